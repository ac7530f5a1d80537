#!/usr/bin/env bash
# From a fresh Debian 12 or 13 machine to a tuned network: installs packages, builds, makes a MobileNetV2 of 8-bit
# integers, tunes it for this CPU, compiles it twice (default schedules, tuned schedules) and compares.
# DEMO_BUDGET sets the tuning time (default 120s), DEMO_MODEL the network ("resnet18_v1", "mobilenet_v2 --int8").
#
# Default schedules of large convolutions run at 95 % of the roofline and more: a search confirms them. This network has 31
# small layers of different shapes, many of them bound by how data is read and rounded and not by products; there rules err, and
# measuring pays.
set -euo pipefail
cd "$(dirname "$0")/.."

budget=${DEMO_BUDGET:-120s}
read -ra model <<<"${DEMO_MODEL:-mobilenet_v2 --int8}"
work=build/demo
threads=$(($(nproc) > 1 ? 2 : 1))

./scripts/setup.sh
echo "== building (some minutes the first time)"
./scripts/build.sh build/release -- tilewright
tilewright=$PWD/build/release/python_free_cli/tilewright

mkdir -p "$work"
step() { printf '\n== %s\n   $ tilewright %s\n' "$1" "$2"; }

step "a real network, made by the built-in generator" "model ${model[*]} -o $work/network.onnx"
"$tilewright" model "${model[@]}" -o "$work/network.onnx"

step "its tunable tasks" "tasks $work/network.onnx"
"$tilewright" tasks "$work/network.onnx"

step "compiled with default schedules" "compile $work/network.onnx -o $work/default.so"
# No record of this user's or machine's may help here.
XDG_DATA_HOME=$PWD/$work/none "$tilewright" compile "$work/network.onnx" --threads "$threads" --no-packages --model none \
  -o "$work/default.so" 2>"$work/default.log"

step "tuning for this CPU, $budget" "tune $work/network.onnx --threads $threads --records $work/records.db --budget $budget"
"$tilewright" tune "$work/network.onnx" --threads "$threads" --records "$work/records.db" --budget "$budget" | tee "$work/tune.log"

step "compiled with what was found" "compile $work/network.onnx --records $work/records.db -o $work/tuned.so"
"$tilewright" compile "$work/network.onnx" --threads "$threads" --records "$work/records.db" -o "$work/tuned.so"

step "checked against the reference, operator by operator" "verify $work/network.onnx $work/tuned.so"
"$tilewright" verify "$work/network.onnx" "$work/tuned.so" | tail -n 3

step "default against tuned" "bench $work/default.so; tilewright bench $work/tuned.so"
# In turns, and the pair in the middle: the machine's speed drifts, and may change between two of a pair.
seconds() { "$tilewright" bench "$1" --threads "$threads" --json | sed -E 's/.*"total_seconds": *([0-9.e+-]+).*/\1/'; }
for _ in 1 2 3 4 5; do
  echo "$(seconds "$work/default.so") $(seconds "$work/tuned.so")"
done | awk '{ print $1 / $2, $1, $2 }' | sort -g | awk 'NR == 3 {
  printf "   default %.2f ms, tuned %.2f ms: %.2f times as fast\n", 1e3 * $2, 1e3 * $3, $1 }'

# What that comes from, as `tune` said: tasks by what they gained, as often as the network has them.
awk '
  match($0, / [0-9.]+ [um]s +[0-9.]+ [um]s +[0-9.]+x /) && !/^all tasks/ {
    split(substr($0, RSTART), time, " ")
    words = split(substr($0, 1, RSTART), word, " ")
    uses = word[words]
    task = substr($0, 1, RSTART)
    sub(/ +[0-9]+ *$/, "", task)
    gain = uses * (time[1] * (time[2] == "ms" ? 1000 : 1) - time[3] * (time[4] == "ms" ? 1000 : 1))
    printf "%.1f\t   %7.1f us: %s, %s %s -> %s %s, %d times\n", gain, gain, task, time[1], time[2], time[3], time[4], uses
  }' "$work/tune.log" | sort -rn | head -n 5 | cut -f2- | { echo "   most of it:"; cat; }
