#!/usr/bin/env bash
# installed_test.sh BUILD SOURCE LIBRARY: what the tuner's library exports; then installs it into a new
# folder, moves that, and builds and runs the program of docs/examples/expressions with it.
set -euo pipefail
build=$1
source=$2
library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# What is exported is what the package's list says: what is released stays.
exported=$(nm -D --defined-only "$library" | awk '$2 == "T" {print $3}' | sort)
listed=$(sed -nE 's/^ ([A-Za-z_0-9]+)@(TILEWRIGHT_TUNER_[0-9.]+) [0-9.]+$/\1@@\2/p' "$source/packaging/libtilewright-tuner1.symbols" |
  grep -v '^TILEWRIGHT_' | sort)
difference=$(diff <(echo "$listed") <(echo "$exported") || true)
[ -z "$difference" ] || fail "the list of symbols and exports differ: $difference"
if readelf -d "$library" | grep -E 'RPATH|RUNPATH|TEXTREL'; then fail "has a search path, or is not position independent"; fi
# The header is for C++17 and needs none of ours or of LLVM's.
if grep -E '#include ("|<llvm)' "$source/include/tilewright/tuner.h"; then fail "the header includes what it must not"; fi

for component in capi tuner; do
  cmake --install "$build" --component $component --prefix "$work/first" >"$work/install.log" || fail "$(cat "$work/install.log")"
done
mv "$work/first" "$work/prefix" # the tree names no place: it can be moved
folder=$source/docs/examples/expressions/program
cmake -S "$folder" -B "$work/own" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS='-Wall -Wextra -Wpedantic -Werror' >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cmake --build "$work/own" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
place=$(dirname "$(find "$work/prefix" -name libtilewright_tuner.so)")
LD_LIBRARY_PATH=$place${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$work/own/tune_own" "$folder" "$work/own.db" "$work/own.so" \
  >"$work/out" 2>&1 || fail "$(cat "$work/out")"
for expected in 'default of it: ok, verified' 'tuned: 8 trials (8 told), best of schedule/own_blocks-' \
  'query: hit, schedule/own_blocks-' 'compiled: schedule/own_blocks-' 'called: right'; do
  grep -qF "$expected" "$work/out" || fail "no '$expected' in: $(cat "$work/out")"
done
[ -s "$work/own.so" ] && [ -s "$work/own.h" ] || fail "no library"

# Mistakes are told, by line and column; a component that is not there is named.
cp "$folder"/*.tw "$folder"/*.tws "$work/" && echo 'parallel(nothing)' >>"$work/blocks.tws"
if LD_LIBRARY_PATH=$place "$work/own/tune_own" "$work" "$work/own.db" "$work/own.so" >"$work/out" 2>&1; then fail "a wrong schedule was taken"; fi
grep -qF 'blocks.tws:14:' "$work/out" || fail "no place of the mistake: $(cat "$work/out")"
# A network: the program of docs/examples/network tunes, compiles and runs an ONNX file.
example=$source/docs/examples/network
cmake -S "$example" -B "$work/network" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_FLAGS='-Wall -Wextra -Wpedantic -Werror' \
  >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cmake --build "$work/network" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
LD_LIBRARY_PATH=$place "$work/network/network" "$source/tests/fixtures/data/network.onnx" "$work/network.db" 4 >"$work/out" 2>&1 ||
  fail "$(cat "$work/out")"
grep -qE '^[1-9][0-9]* trials: .* run: ok' "$work/out" || fail "no report in: $(cat "$work/out")"
LD_LIBRARY_PATH=$place "$work/network/network" "$source/README.md" "$work/network.db" 1 >"$work/out" 2>&1 && fail "README.md was a model"
grep -q 'README.md' "$work/out" || fail "the file is not named: $(cat "$work/out")"

rm "$(find "$work/prefix" -name TilewrightTunerTargets.cmake)"
if cmake -S "$folder" -B "$work/none" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1; then fail "found without the tuner"; fi
grep -qF 'no component tuner' "$work/log" || fail "$(cat "$work/log")"
echo "tuner installed, embedded and called"
