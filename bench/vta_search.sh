#!/usr/bin/env bash
# vta_search.sh TILEWRIGHT PACKED.relay [TRIALS [SEEDS [STRATEGY [ARGUMENT...]]]]: whole searches of
# a VTA's network, each in a new store; of convolutions only with --template
# conv2d_packed_slots.vta. Prints for each seed: trials per second of the search, of the whole
# command (including the analysis of the space and the verification of the fastest), and kilocycles
# of all tasks.
set -euo pipefail

tilewright=$(realpath "$1") graph=$(realpath "$2") trials=${3:-640} seeds=${4:-5} strategy=${5:-auto}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME="$work/data" XDG_CONFIG_HOME="$work/config"

number() { grep -o "\"$1\":[0-9.e+-]*" report.json | head -n 1 | cut -d: -f2; }
echo "strategy seed trials  search/s  whole/s  kilocycles"
for seed in $(seq "$seeds"); do
  begin=$(date +%s.%N)
  "$tilewright" tune "$graph" --target 'vta -model=sim_1x16_i8w8a32_15_15_18_17' --strategy "$strategy" \
    --records "$strategy.$seed.db" --trials "$trials" --seed "$seed" "${@:6}" --json >report.json 2>log.txt
  end=$(date +%s.%N)
  awk -v s="$strategy" -v n="$seed" -v t="$(number trials)" -v r="$(number trials_per_second)" \
    -v w="$(echo "$end - $begin" | bc)" -v c="$(number best_network_cycles)" \
    'BEGIN { printf "%-8s %4d %6d %9.1f %8.1f %11.1f\n", s, n, t, r, t / w, c / 1000 }'
done
