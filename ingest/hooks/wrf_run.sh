#!/usr/bin/env bash
# A WRF run that ends with its output in NVMDB. Copy it, or take the two marked parts over into your own run script.
#
#   wrf_run.sh RUN_DIRECTORY COMMAND...        for example: wrf_run.sh /data/wrf/2024011500 mpirun -n 64 ./wrf.exe
#
# Frames go in while the model runs (set `output_ready_flag = .true.` in &time_control: a frame is then taken as soon as WRF
# says that it is complete), the rest when it has ended. Ends with the model's exit code, or with that of `nvmdb ingest`.
# NVMDB_SERVER names the server (default: localhost:50051); NVMDB_MODEL the model's name there (default: as the file says).
set -euo pipefail
[[ $# -ge 2 ]] || { echo "usage: wrf_run.sh RUN_DIRECTORY COMMAND..." >&2; exit 2; }
directory=$1
shift
model=(${NVMDB_MODEL:+--model "$NVMDB_MODEL"})
cd "$directory"

# Part 1, before the model starts: what it writes is watched.
nvmdb watch . --pattern 'wrfout_d*' "${model[@]}" >>nvmdb-watch.log 2>&1 &
watch=$!

code=0
"$@" || code=$?

# Part 2, after it ended: everything is complete now. What the watch took already changes nothing.
kill -TERM "$watch" 2>/dev/null || true
wait "$watch" || true
shopt -s nullglob
files=(wrfout_d*)
if [[ ${#files[@]} -gt 0 ]]; then
  nvmdb ingest "${model[@]}" "${files[@]}" || { ingest=$?; [[ $code -ne 0 ]] || code=$ingest; }
elif [[ $code -eq 0 ]]; then
  echo "wrf_run.sh: the model ended well, but there is no wrfout_d* in $directory" >&2
  code=1
fi
exit "$code"
