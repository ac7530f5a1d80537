#!/usr/bin/env bash
# open_matmul.sh TILEWRIGHT [RUNS [TRIALS [RANDOM]]]: tunes the matrix product of docs/examples/open
# with GCC, RUNS times with another seed, and measures the best config of each run, the best of
# RANDOM random configs and the plain loop at -O3 -march=native in turns, on one core.
# Prints the fastest and the median time of each, and its ratio to the plain loop's.
set -euo pipefail
tilewright=$(realpath "$1")
runs=${2:-10}
trials=${3:-200}
random=${4:-2000}
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$source_folder"/docs/examples/open/matmul.* .
build='gcc matmul.c -o {out} -lm {level} {math} -march=native -DBLOCK_I={block_i} -DBLOCK_J={block_j} -DBLOCK_K={block_k} -DLANES={lanes} -DTILE_I={tile_i} -DTILE_J={tile_j} -DPACK={pack}'

tune() { # tune STORE TRIALS OPTION...: the program of the best config becomes the file STORE.best
  local store=$1 count=$2
  shift 2
  "$tilewright" tune --space matmul.json --records "$store.db" --trials "$count" --quiet \
    --build "$build" --command '{out}' --check '{out} check' "$@" >"$store.txt"
  local words=$build name
  "$tilewright" query matmul --records "$store.db" --json >"$store.json"
  for name in level math block_i block_j block_k lanes tile_i tile_j pack; do
    local value
    value=$(grep -oE "\"$name\":(\"[^\"]*\"|[0-9]+)" "$store.json" | head -1 | sed 's/^[^:]*://; s/"//g')
    words=${words//"{$name}"/$value}
  done
  ${words//"{out}"/"$store.best"}
  echo "$store: $words"
}

gcc matmul.c -o plain.best -lm -O3 -march=native
programs=(plain)
for ((i = 1; i <= runs; ++i)); do
  tune "run$i" "$trials" --seed "$i"
  programs+=("run$i")
done
if [ "$random" -gt 0 ]; then
  tune random "$random" --strategy random --seed 1000
  programs+=(random)
fi
for ((turn = 0; turn < 60; ++turn)); do
  for program in "${programs[@]}"; do
    taskset -c 0 "./$program.best" | tr -d '[]{} ' | sed 's/"seconds"://' | tr ',' '\n' | sort -g | head -1 >>"$program.times"
  done
done
plain_least=$(sort -g plain.times | head -1)
plain_median=$(sort -g plain.times | sed -n 30p)
for program in "${programs[@]}"; do
  sort -g "$program.times" | awk -v name="$program" -v least="$plain_least" -v median="$plain_median" '
    { t[NR] = $1 } END { printf "%-8s fastest %.3f ms (%.2fx)  median %.3f ms (%.2fx)\n",
      name, 1e3 * t[1], least / t[1], 1e3 * t[int(NR / 2)], median / t[int(NR / 2)] }'
done
