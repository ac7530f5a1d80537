#!/usr/bin/env bash
# vta_front.sh TILEWRIGHT PACKED.relay [TRIALS [SEED]]: one search for cycles and bytes of the 19
# convolutions of ResNet-18 without their residual additions, then the selection of `--prefer` on
# its fronts: the fewest cycles of all 19 within limits of bytes. TopHub's v0.10 schedules take
# 9,323.9 kilocycles and 20.05 MB.
set -euo pipefail

tilewright=$(realpath "$1") graph=$(realpath "$2") trials=${3:-4000} seed=${4:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME="$work/data" XDG_CONFIG_HOME="$work/config"
target='vta -model=sim_1x16_i8w8a32_15_15_18_17'

"$tilewright" tune "$graph" --target "$target" --no-fuse-residuals --metric cycles,dram_bytes --trials "$trials" \
  --seed "$seed" --template conv2d_packed_slots.vta --template conv2d_packed.vta --records fronts.db 2>log.txt
echo
echo "prefer; of all 19 convolutions, with what they take of TopHub's"
for prefer in cycles dram_bytes 'cycles,dram_bytes<='{15.2,15.3,15.4,15.6,16,17.3}MB; do
  "$tilewright" query "$graph" --target "$target" --no-fuse-residuals --records fronts.db --no-packages \
    --model none --accept hit --prefer "$prefer" --json >answer.json 2>>log.txt || true # additions have no records
  awk -v prefer="$prefer" '{
    match($0, /"cycles":[0-9.]+/); cycles = substr($0, RSTART + 9, RLENGTH - 9) + 0
    match($0, /"dram_bytes":[0-9.e+]+/); bytes = substr($0, RSTART + 13, RLENGTH - 13) + 0
    printf "%-28s %8.1f kilocycles (%.3f)  %6.3f MB (%.3f)\n", prefer, cycles / 1e3, cycles / 9323900,
      bytes / 1e6, bytes / 20.05e6 }' < <(grep -o '"sums":.*' answer.json || echo none)
done
