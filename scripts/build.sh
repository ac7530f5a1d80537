#!/usr/bin/env bash
# build.sh FOLDER [CMAKE_OPTION...] [-- TARGET...]: configures and builds into FOLDER.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
shift
options=()
while [ $# -gt 0 ] && [ "$1" != "--" ]; do
  options+=("$1")
  shift
done
[ "${1:-}" = "--" ] && shift
# A compiler cache accepts precompiled headers only with these settings.
export CCACHE_SLOPPINESS=pch_defines,time_macros
command -v ccache >/dev/null && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)

# A folder belongs to one compiler: CMake forgets its options where that changes.
kept=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
for option in "${options[@]}"; do
  case $option in
    -DCMAKE_CXX_COMPILER=*) [ -z "$kept" ] || [ "${kept##*/}" = "${option##*[=/]}" ] || rm -rf "$folder" ;;
  esac
done

mkdir -p "$folder"
cmake -G Ninja -S . -B "$folder" "${options[@]}" >"$folder/configure.log" 2>&1 || {
  cat "$folder/configure.log" >&2
  exit 1
}
ninja -C "$folder" "$@" >"$folder/build.log" 2>&1 || {
  grep -vE '^\[[0-9]+/' "$folder/build.log" | head -n 60 >&2
  exit 1
}
tail -n 1 "$folder/build.log"
