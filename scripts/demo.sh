#!/usr/bin/env bash
# From a fresh Debian 12 machine to a tuned network: installs packages, builds, makes a ResNet-18,
# tunes it for this CPU, compiles it twice (default schedules, tuned schedules) and compares.
# DEMO_BUDGET sets the tuning time (default 120s), DEMO_MODEL the network.
set -euo pipefail
cd "$(dirname "$0")/.."

budget=${DEMO_BUDGET:-120s}
model=${DEMO_MODEL:-resnet18_v1}
work=build/demo

./scripts/setup.sh
echo "== building (some minutes the first time)"
./scripts/build.sh build/release -- tilewright
tilewright=$PWD/build/release/python_free_cli/tilewright

mkdir -p "$work"
step() { printf '\n== %s\n   $ tilewright %s\n' "$1" "$2"; }

step "a real network, made by the built-in generator" "model $model -o $work/$model.onnx"
"$tilewright" model "$model" -o "$work/$model.onnx"

step "its tunable tasks" "tasks $work/$model.onnx"
"$tilewright" tasks "$work/$model.onnx"

step "compiled with default schedules" "compile $work/$model.onnx -o $work/default.so"
# No record of this user's or machine's may help here.
XDG_DATA_HOME=$PWD/$work/none "$tilewright" compile "$work/$model.onnx" --target native --no-packages --model none \
  -o "$work/default.so" 2>"$work/default.log"

step "tuning for this CPU, $budget" "tune $work/$model.onnx --records $work/records.db --budget $budget"
"$tilewright" tune "$work/$model.onnx" --target native --records "$work/records.db" --budget "$budget"

step "compiled with what was found" "compile $work/$model.onnx --records $work/records.db -o $work/tuned.so"
"$tilewright" compile "$work/$model.onnx" --target native --records "$work/records.db" -o "$work/tuned.so"

step "checked against the reference, operator by operator" "verify $work/$model.onnx $work/tuned.so"
"$tilewright" verify "$work/$model.onnx" "$work/tuned.so" | tail -n 3

step "default against tuned" "bench $work/default.so; tilewright bench $work/tuned.so"
# Interleaved: the machine's speed drifts, the ratio does not.
seconds() { "$tilewright" bench "$1" --json | sed -E 's/.*"total_seconds": *([0-9.e+-]+).*/\1/'; }
for _ in 1 2 3; do
  echo "$(seconds "$work/default.so") $(seconds "$work/tuned.so")"
done | awk '
  { if (NR == 1 || $1 < before) before = $1; if (NR == 1 || $2 < after) after = $2 }
  END { printf "   default %.2f ms, tuned %.2f ms: %.2f times as fast\n", 1e3 * before, 1e3 * after, before / after }'
