#!/usr/bin/env bash
# The hooks of ingest/hooks with a real server, a real file and, for ecFlow, Debian's ecflow-server.
# Usage: hooks_test.sh wrf_run|ecflow|units NVMDB SOURCE_DIRECTORY. Exit code 77: what it needs is not here.
set -euo pipefail
part=$1
binary=$2
source=$3
hooks=$source/ingest/hooks
file=$source/tests/data/wrf_cropped.nc # 4 steps
scratch=$(mktemp -d)
server=
ecflow=
cleanup() {
  [[ -z $server ]] || kill -TERM "$server" 2>/dev/null || true
  [[ -z $ecflow ]] || kill -KILL "$ecflow" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT

fail() {
  echo "hooks_test.sh $part: $*" >&2
  exit 1
}

expect() { # expect WHAT ACTUAL EXPECTED
  [[ $2 == "$3" ]] || fail "$1: \"$2\", expected \"$3\""
}

start_server() {
  export PATH=${binary%/*}:$PATH
  nvmdb serve --pool "$scratch/pool" --nvm 256MiB --listen 127.0.0.1:0 >"$scratch/server.log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    NVMDB_SERVER=$(sed -n 's/^listening on //p' "$scratch/server.log")
    [[ -z $NVMDB_SERVER ]] || break
    sleep 0.1
  done
  [[ -n $NVMDB_SERVER ]] || fail "the server did not start: $(cat "$scratch/server.log")"
  export NVMDB_SERVER
}

steps() { nvmdb steps --model wrf --format csv | tail -n +2 | wc -l; }

wrf_run() {
  start_server
  mkdir "$scratch/run"
  # In the model's place: its file appears, then it ends with the code that is asked.
  printf '#!/bin/sh\ncp "%s" wrfout_d01_2008-10-26_12:00:00\nexit "$1"\n' "$file" >"$scratch/wrf.exe"
  chmod +x "$scratch/wrf.exe"
  code=0
  NVMDB_MODEL=wrf "$hooks/wrf_run.sh" "$scratch/run" "$scratch/wrf.exe" 0 || code=$?
  expect "exit code of a good run" "$code" 0
  expect "steps" "$(steps)" 4
  code=0
  NVMDB_MODEL=wrf "$hooks/wrf_run.sh" "$scratch/run" "$scratch/wrf.exe" 9 || code=$?
  expect "exit code of a model that failed" "$code" 9
  code=0
  mkdir "$scratch/empty"
  NVMDB_MODEL=wrf "$hooks/wrf_run.sh" "$scratch/empty" true || code=$?
  expect "exit code of a model that wrote nothing" "$code" 1
  cp "$file" "$scratch/empty/wrfout_d01_2008-10-26_12:00:00"
  code=0
  NVMDB_SERVER=127.0.0.1:1 "$hooks/wrf_run.sh" "$scratch/empty" true || code=$?
  expect "exit code without a server" "$code" 5
}

ecflow() {
  command -v ecflow_server >/dev/null && command -v ecflow_client >/dev/null || { echo "ecFlow is not installed"; exit 77; }
  start_server
  mkdir -p "$scratch/run" "$scratch/ecf/cycle/include" "$scratch/home"
  cp "$file" "$scratch/run/wrfout_d01_2008-10-26_12:00:00"
  export ECF_PORT=$((20000 + RANDOM % 20000)) ECF_HOST=localhost
  ECF_HOME=$scratch/home ecflow_server --port="$ECF_PORT" >"$scratch/ecflow.log" 2>&1 &
  ecflow=$!
  for _ in $(seq 100); do
    ! ecflow_client --ping >/dev/null 2>&1 || break
    sleep 0.2
  done
  cat >"$scratch/ecf/cycle/include/head.h" <<'H'
#!/bin/bash
set -e
export ECF_PORT=%ECF_PORT% ECF_HOST=%ECF_HOST% ECF_NAME=%ECF_NAME% ECF_PASS=%ECF_PASS% ECF_TRYNO=%ECF_TRYNO% ECF_RID=$$
ecflow_client --init=$$
trap 'trap - EXIT; ecflow_client --abort=trap; exit 0' ERR EXIT
H
  cat >"$scratch/ecf/cycle/include/tail.h" <<'H'
trap - EXIT ERR
ecflow_client --complete
exit 0
H
  cp "$hooks/ingest.ecf" "$scratch/ecf/cycle/ingest.ecf"
  cat >"$scratch/cycle.def" <<D
suite cycle
  edit ECF_HOME '$scratch/home'
  edit ECF_FILES '$scratch/ecf/cycle'
  edit ECF_INCLUDE '$scratch/ecf/cycle/include'
  edit ECF_HOST 'localhost'
  edit RUN_DIRECTORY '$scratch/run'
  edit SERVER '$NVMDB_SERVER'
  task ingest
    event stored
    meter step 0 240
endsuite
D
  ecflow_client --load="$scratch/cycle.def"
  ecflow_client --restart
  ecflow_client --begin=cycle
  state=unknown
  for _ in $(seq 300); do
    state=$(ecflow_client --query state /cycle/ingest 2>/dev/null || true)
    [[ $state != complete && $state != aborted ]] || break
    sleep 0.2
  done
  [[ $state == complete ]] || fail "the task is $state: $(cat "$scratch"/home/cycle/ingest.[0-9]* 2>/dev/null | tail -20)"
  expect "event" "$(ecflow_client --query event /cycle/ingest:stored)" set
  expect "meter" "$(ecflow_client --query meter /cycle/ingest:step)" 9
  expect "steps" "$(steps)" 4
  # A retry changes nothing; without its files the task aborts.
  rm "$scratch"/run/*
  ecflow_client --requeue=force /cycle/ingest
  for _ in $(seq 300); do
    state=$(ecflow_client --query state /cycle/ingest 2>/dev/null || true)
    [[ $state != aborted ]] || break
    sleep 0.2
  done
  expect "state of a task without files" "$state" aborted
}

units() {
  command -v systemd-analyze >/dev/null || { echo "systemd-analyze is not installed"; exit 77; }
  mkdir "$scratch/units"
  for unit in "$hooks"/*.service "$hooks"/*.path; do
    sed "s#/usr/local/bin/nvmdb#$binary#" "$unit" >"$scratch/units/${unit##*/}"
  done
  cd "$scratch/units"
  for unit in nvmdb.service nvmdb-watch@data-run.service nvmdb-ingest@data-run.path nvmdb-ingest@data-run.service; do
    said=$(systemd-analyze verify --man=no --recursive-errors=no "$unit" 2>&1) || fail "$unit: $said"
    [[ $said != *"${unit%%@*}"*[Ii]gnoring* ]] || fail "$unit: $said"
  done
}

case $part in
  wrf_run | ecflow | units) "$part" ;;
  *) fail "no such part" ;;
esac
