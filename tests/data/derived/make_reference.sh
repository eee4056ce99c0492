#!/usr/bin/env bash
# Makes ncl_reference.txt beside this script. Needs Debian's ncl-ncarg. Usage: make_reference.sh FOLDER_OF_WRFOUTS
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$here/ncl_reference.txt
{
  echo "# NCL $(ncl -V), Debian package ncl-ncarg $(dpkg-query -W -f '${Version}' ncl-ncarg), by make_reference.sh"
  echo "# file parameter time row column level value"
} >"$out"
parts="thermodynamics surface wind avo pvo dbz cape_3d cape_2d helicity updraft_helicity ctt"
for file in wrf_python_ci_mercator.nc wrf_d01_allvars_cropped.nc wrf_cropped.nc; do
  for part in $parts; do
    [[ $file = wrf_cropped.nc && $part != thermodynamics ]] && continue
    if ! ncl -n -Q "dir=\"$1/\"" "input=\"$file\"" "part=\"$part\"" "$here/make_reference.ncl" >"$out.part"; then
      echo "$file $part: NCL failed" >&2
    fi
    grep "^$file" "$out.part" >>"$out" || echo "$file $part: no values" >&2
    grep -v "^$file" "$out.part" | head -5 >&2 || true
  done
done
rm -f "$out.part"
