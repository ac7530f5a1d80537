#!/usr/bin/env bash
# From a fresh Debian 12 or 13 machine to a tuned network, in about ten minutes on two cores: installs packages, builds, makes a
# MobileNetV2, tunes it, compiles it, verifies it, and compares it with ONNX Runtime if a Python with onnxruntime is there. Then
# tunes an operator that no library has, where tuning pays most.
# DEMO_BUDGET sets the tuning time of the network (default 100s), DEMO_MODEL the network ("mobilenet_v2", "resnet18_v1"),
# DEMO_PYTHON the Python with onnxruntime and numpy (default: python3). The product itself needs no Python.
set -euo pipefail
cd "$(dirname "$0")/.."

budget=${DEMO_BUDGET:-100s}
read -ra model <<<"${DEMO_MODEL:-mobilenet_v2}"
python=${DEMO_PYTHON:-python3}
work=build/demo
threads=$(($(nproc) > 1 ? 2 : 1))

./scripts/setup.sh
echo "== building (some minutes the first time)"
./scripts/build.sh build/release -- tilewright
tilewright=$PWD/build/release/python_free_cli/tilewright

mkdir -p "$work"
step() { printf '\n== %s\n   $ tilewright %s\n' "$1" "$2"; }
# Records of this user or machine stay out of the comparison.
untuned() { XDG_DATA_HOME=$PWD/$work/none "$tilewright" compile "$1" --threads "$2" --no-packages --model none -o "$3" 2>"$work/untuned.log"; }
seconds() { "$tilewright" bench "$1" --threads "$2" --json | sed -E 's/.*"total_seconds": *([0-9.e+-]+).*/\1/'; }
# compare LIBRARY OTHER THREADS: medians of interleaved runs in seconds, and the ratio.
compare() {
  for _ in 1 2 3 4 5; do
    echo "$(seconds "$1" "$3") $(seconds "$2" "$3")"
  done | awk '{ print $1 / $2, $1, $2 }' | sort -g | awk 'NR == 3'
}

step "a real network, made by the built-in generator" "model ${model[*]} -o $work/network.onnx"
"$tilewright" model "${model[@]}" -o "$work/network.onnx"

step "its tunable tasks" "tasks $work/network.onnx"
"$tilewright" tasks "$work/network.onnx"

step "tuning for this CPU, $budget" "tune $work/network.onnx --threads $threads --records $work/records.db --budget $budget"
"$tilewright" tune "$work/network.onnx" --threads "$threads" --records "$work/records.db" --budget "$budget"

step "compiled with what was found" "compile $work/network.onnx --threads $threads --records $work/records.db -o $work/tuned.so"
untuned "$work/network.onnx" "$threads" "$work/default.so"
"$tilewright" compile "$work/network.onnx" --threads "$threads" --records "$work/records.db" -o "$work/tuned.so"

step "checked against the reference, operator by operator" "verify $work/network.onnx $work/tuned.so"
"$tilewright" verify "$work/network.onnx" "$work/tuned.so" | tail -n 3

step "an operator of a transformer that no library has" "tune docs/examples/expressions/rotary.tw --records $work/records.db --trials 64"
cat docs/examples/expressions/rotary.tw
operator=docs/examples/expressions/rotary.tw
"$tilewright" tune $operator --records "$work/records.db" --trials 64
untuned $operator 1 "$work/rotary_default.so"
"$tilewright" compile $operator --records "$work/records.db" -o "$work/rotary.so"

printf '\n== results\n'
# The last minute had builds of our own, so only much more than that is others' work.
read -r load _ </proc/loadavg
awk -v l="$load" -v n="$(nproc)" 'BEGIN { if (l > n + 2) printf "note: load %s on %d CPUs: other work makes these times unreliable\n", l, n }'
read -r gain before after <<<"$(compare "$work/rotary_default.so" "$work/rotary.so" 1)"
awk -v g="$gain" -v b="$before" -v a="$after" 'BEGIN {
  printf "rotary embedding, 1 thread: default config %.1f µs, tuned %.1f µs, %.1f times as fast\n", 1e6 * b, 1e6 * a, g
  print  "   Why: the default vectors cross the two halves of a head, and every element needs its own address."
  print  "   The search found vectors that are exactly one half."
}'
read -r gain before after <<<"$(compare "$work/default.so" "$work/tuned.so" "$threads")"
awk -v m="${model[*]}" -v t="$threads" -v g="$gain" -v b="$before" -v a="$after" 'BEGIN {
  printf "%s, %d threads: default configs %.2f ms, tuned %.2f ms, %.2f times as fast\n", m, t, 1e3 * b, 1e3 * a, g
  if (g > 0.97 && g < 1.1) print "   Why so little: the default configs of these layers run near the roofline of this CPU already."
}'
if "$python" -c 'import onnxruntime, numpy' 2>/dev/null; then
  "$python" bench/peers/demo.py "$work/network.onnx" "$work/tuned.so" "$threads"
else
  echo "ONNX Runtime on the same network: not run, because $python has no onnxruntime and numpy. In an environment of your own:"
  echo "   python3 -m venv build/demo/venv && build/demo/venv/bin/pip install onnxruntime numpy && DEMO_PYTHON=build/demo/venv/bin/python $0"
  echo "   bench/results/2026-11-28-znver4/three.txt has times of five networks beside ONNX Runtime and OpenVINO."
fi
