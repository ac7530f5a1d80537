#!/usr/bin/env bash
# Compares the tuning of a range of sizes with the tuning of each size alone: tunes both for the same
# time, compiles them, and times their libraries in alternating runs (bench/open_sizes.c).
#
#   bench/open_tuning.sh MODEL DIMENSION LEAST MOST SIZES BUDGET FOLDER [SECONDS of a size] [REPEATS]
#
# SIZES: a list, 1,7,64. BUDGET: as of `tune`, 2m. FOLDER: stores and libraries; stores that exist
# are not tuned again. MODEL with an open length of a sequence: bench/peers/encoder.py.
#
# Prints a line for each size: size, fastest run of the open and of the fixed library in
# microseconds of the processor, median ratio of neighbouring runs (the median of REPEATS), and the
# largest difference of the outputs. Then sums over the ratios, of sizes below 8 apart, and the number
# of configs of all layers.
# TILEWRIGHT: the program.
set -eu
test $# -ge 7 || { sed -n '2,16p' "$0" >&2; exit 2; }
model=$1 dimension=$2 least=$3 most=$4 sizes=$5 budget=$6 folder=$7 seconds=${8:-1} repeats=${9:-3}
program=${TILEWRIGHT:-build/release/python_free_cli/tilewright}
root=$(dirname "$0")/..
mkdir -p "$folder"

tune() { # tune SIZES NAME
  test -e "$folder/$2.db" || "$program" tune "$model" --dim "$dimension=$1" --records "$folder/$2.db" \
    --budget "$budget" --quiet >"$folder/$2.tune"
}
compile() { # compile SIZES NAME
  "$program" compile "$model" --dim "$dimension=$1" --records "$folder/$2.db" --quiet --name net --json \
    -o "$folder/$2.so" >"$folder/$2.json"
}

cc -O2 -std=c11 -D_GNU_SOURCE -I "$root" "$root/bench/open_sizes.c" -o "$folder/open_sizes" -ldl -lm
tune "$least..$most" range
compile "$least..$most" range
for size in ${sizes//,/ }; do
  tune "$size" "size_$size"
  compile "$size" "size_$size"
done
echo "size,open_us,fixed_us,ratio,difference"
for repeat in $(seq "$repeats"); do
  for size in ${sizes//,/ }; do
    "$folder/open_sizes" "$folder/range.so" "$folder/size_$size.so" "$dimension" "$size" 1 "$seconds"
  done
done >"$folder/lines"
sort -t, -k1,1n -k4,4g "$folder/lines" |
  awk -F, -v middle=$(((repeats + 1) / 2)) '++seen[$1] == middle' | tee "$folder/medians"
awk -F, '{ log_sum += log($4); ++count; below = $1 < 8
    if ($4 > worst[below]) { worst[below] = $4; at[below] = $1 } }
  END { printf "ratios: geometric mean %.3f of %d sizes; worst %.3f at %d", exp(log_sum / count), count, worst[0], at[0]
    if (1 in worst) printf "; of sizes below 8: %.3f at %d", worst[1], at[1]
    printf "\n" }' "$folder/medians"
echo "configs of a layer: $(grep -o '"entries":[0-9]*,"gain":' "$folder/range.json" | wc -l) in $(grep -o '"blocks":' "$folder/range.json" | wc -l) layers"
