#!/usr/bin/env bash
# Times a library for a range of sizes against a library of each size (bench/open_sizes.c), and
# compares their code and compile times.
#
#   bench/open_sizes.sh MODEL DIMENSION LEAST MOST [STEP] [THREADS] [SECONDS of a size]
#
# STEP may be a list of sizes instead: 1,7,64. MODEL with an open length of a sequence:
# bench/peers/encoder.py.
#
# Prints a line for each size: size, fastest run of the open and of the fixed library in
# microseconds, median ratio of neighbouring runs, largest difference of the outputs. Then sums over
# the median ratios. With one thread, times are of the processor, which other programs change least. TILEWRIGHT: the program.
set -eu
test $# -ge 4 || { sed -n '2,12p' "$0" >&2; exit 2; }
model=$1 dimension=$2 least=$3 most=$4 step=${5:-1} threads=${6:-1} seconds=${7:-0.5}
program=${TILEWRIGHT:-build/release/python_free_cli/tilewright}
root=$(dirname "$0")/..
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

code_of() { size -A "$1" | awk '$1 == ".text" { print $2 }'; }
# Processor seconds of a command and its children.
seconds_of() { (TIMEFORMAT='%U %S'; { time "$@" >/dev/null 2>&1; } 2>&1) | awk '{ printf "%.2f", $1 + $2 }'; }
compile() {
  seconds_of "$program" compile "$model" --dim "$dimension=$1" --threads "$threads" --quiet --name net -o "$2"
}

cc -O2 -std=c11 -D_GNU_SOURCE -I "$root" "$root/bench/open_sizes.c" -o "$folder/open_sizes" -ldl -lm
open_seconds=$(compile "$least..$most" "$folder/open.so")
echo "size,open_us,fixed_us,ratio,difference"
case $step in
  *,*) sizes=${step//,/ } ;;
  *) sizes=$(seq "$least" "$step" "$most") ;;
esac
for size in $sizes; do
  fixed_seconds=$(compile "$size" "$folder/fixed.so")
  "$folder/open_sizes" "$folder/open.so" "$folder/fixed.so" "$dimension" "$size" "$threads" "$seconds"
done | tee "$folder/lines"
compile "$most" "$folder/fixed.so" >"$folder/fixed_seconds"
awk -F, '{ ratio = $4; log_sum += log(ratio); if (ratio > worst) { worst = ratio; at = $1 } ++count }
  END { printf "median ratios: geometric mean %.3f, worst %.3f at %s, %d sizes\n", exp(log_sum / count), worst, at, count }' "$folder/lines"
echo "code $(code_of "$folder/open.so") bytes, of the largest size alone $(code_of "$folder/fixed.so")"
echo "file $(stat -c %s "$folder/open.so") bytes, of the largest size alone $(stat -c %s "$folder/fixed.so")"
echo "compiled in $open_seconds processor seconds, the largest size alone in $(cat "$folder/fixed_seconds")"
