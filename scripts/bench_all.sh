#!/usr/bin/env bash
# bench_all.sh [FOLDER]: measures on this machine what docs/measured.md names no script of its own for, and keeps the raw output in
# FOLDER (default bench/results/<date>-<host CPU>). Takes about an hour on two idle cores; LONG=0
# leaves out the runs that take ten to thirty minutes each (kills, memory, changed stores and packages).
set -uo pipefail
cd "$(dirname "$0")/.."

./scripts/setup.sh || exit 1
./scripts/build.sh build/release || exit 1
bin=$PWD/build/release
tilewright=$bin/python_free_cli/tilewright
cpu=$("$tilewright" targets --json | sed -E 's/.*-mcpu=([a-z0-9-]+).*/\1/')
out=${1:-bench/results/$(date +%Y-%m-%d)-$cpu}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
  "$tilewright" version
  "$tilewright" targets | head -2
  uname -sr
  grep -m1 'cpu MHz' /proc/cpuinfo
  date -u
} >"$out/machine.txt"

# Kernels against the best of the vendor libraries' algorithms, in the same process, interleaved.
shared=${TILEWRIGHT_SHARED:-../shared}
if [ -x "$bin/bench/kernel_bench" ]; then
  for mode in fp32 int8 avx2 int8avx2 int8avx2w64; do
    for network in resnet18_v1 resnet50_v1 mobilenet_v2 squeezenet1_1; do
      for threads in 1 2; do
        kernels="$out/kernels_${mode}_${network}_$threads.txt"
        "$bin/bench/kernel_bench" "$network" --mode "$mode" --threads "$threads" >"$kernels" 2>&1
        tail -n 1 "$kernels"
      done
    done
  done
fi

# Generated kernels against calls of oneDNN with the rest after them, if it is installed.
if [ -x "$bin/bench/library_bench" ]; then
  for network in resnet18_v1 mobilenet_v2; do
    for form in "" --int8; do
      taskset -c 0 "$bin/bench/library_bench" "$network" $form --builds 24 --rounds 9 || true
    done
  done >"$out/libraries.txt" 2>&1
  grep wins "$out/libraries.txt" || true
fi

"$bin/bench/build_bench" >"$out/build.txt" 2>&1
"$bin/bench/cost_model_bench" >"$out/cost_model.txt" 2>&1
"$bin/bench/simt_check" 2000 5 >"$out/simt.txt" 2>&1
if [ -f "$shared/data/tophub/arm_cpu_v0.08.log" ]; then
  "$bin/bench/tophub_records_bench" "$shared"/data/tophub/{arm_cpu,vta}_v*.log --run 15 >"$out/tophub_arm.txt" 2>&1
fi
if [ -f "$shared/data/tophub/cuda_v0.10.log" ]; then
  for arch in sm_75 sm_80 sm_90; do
    echo "-arch=$arch"
    "$bin/bench/tophub_cuda_bench" "$shared/data/tophub/cuda_v0.10.log" --ptxas --arch $arch
  done >"$out/tophub_cuda.txt" 2>&1
fi
"$bin/bench/reference_bench" >"$out/reference.txt" 2>&1
bench/deploy_time.sh "$tilewright" >"$out/deploy.txt" 2>&1
"$bin/bench/query_bench" >"$out/query.txt" 2>&1
{ "$bin/bench/store_bench" package 10000 "$work" && "$bin/bench/store_bench" write 32 10000 "$work"; } \
  >"$out/store.txt" 2>&1
{
  "$bin/bench/import_bench" 200000 "$work"
  "$bin/bench/import_bench" 1000000 "$work"
  if ls "$shared"/data/tophub/*.log >/dev/null 2>&1; then
    for _ in 1 2 3; do "$bin/bench/import_bench" "$shared"/data/tophub/*.log; done
  fi
} >"$out/import.txt" 2>&1

# Random streams for the VTA, and the slot-based plans next to TopHub's if the shared list of layers is there.
"$bin/bench/vta_check" 10000 >"$out/vta_check.txt" 2>&1
layers=$shared/data/expected/vta_resnet18.json
if [ -f "$layers" ]; then "$bin/bench/vta_own" "$layers" >"$out/vta_own.txt" 2>&1; fi

# The pipeline: a whole network, and one task.
"$tilewright" model resnet18_v1 -o "$work/resnet18.onnx"
"$tilewright" tune "$work/resnet18.onnx" --records "$work/network.db" --trials 2000 --json >"$out/tune_network.json" 2>/dev/null
"$tilewright" tune "$work/resnet18.onnx#3" --records "$work/task.db" --trials 300 --json >"$out/tune_task.json" 2>/dev/null

# Strategies, and configs chosen without measuring, on the recorded spaces.
if ls bench/landscapes/*.csv >/dev/null 2>&1; then
  "$bin/bench/strategy_bench" bench/landscapes/*.csv >"$out/strategies.txt" 2>&1
  "$bin/bench/strategy_bench" --optimum 64 bench/landscapes/vta/*.csv >"$out/vta_strategies.txt" 2>&1
  "$bin/bench/front_bench" $(ls bench/landscapes/vta/*_cycles.csv | sed s/_cycles.csv//) >"$out/front.txt" 2>&1
  "$bin/bench/guess_bench" bench/landscapes/*.csv >"$out/guess.txt" 2>&1
fi

# Whole networks, default against tuned, each number of threads with its own records: interleaved,
# because the machine's speed drifts.
for network in resnet18_v1 mobilenet_v2; do
  for form in "" --int8; do
    name=$network$form
    "$tilewright" model $network $form -o "$work/$name.onnx" || continue
    for threads in 1 2; do
      "$tilewright" tune "$work/$name.onnx" --threads $threads --records "$work/records.db" --budget 3m 2>/dev/null |
        grep -E 'all, uses counted|of [0-9]+ tasks  |trials,' | sed "s/^/$name, $threads threads: /"
      XDG_DATA_HOME=$work/none "$tilewright" compile "$work/$name.onnx" --threads $threads --no-packages --model none -o "$work/default.so" >/dev/null 2>&1
      "$tilewright" compile "$work/$name.onnx" --threads $threads --records "$work/records.db" -o "$work/tuned.so" >/dev/null 2>&1
      for kind in default tuned default tuned default tuned; do
        echo "$name $kind, $threads threads: $("$tilewright" bench "$work/$kind.so" | tail -n 1)"
      done
    done
  done
done >"$out/networks.txt"

if [ "${LONG:-1}" -ne 0 ]; then
  bench/kill_test.sh "$tilewright" 200 >"$out/kills.txt" 2>&1
  bench/memory_test.sh "$tilewright" 10000 >"$out/memory.txt" 2>&1
  for what in stores packages; do
    "$bin/bench/mutated_records" $what 1800 | tr '\r' '\n' | tail -n 1
  done >"$out/mutated.txt" 2>&1
fi
echo "results in $out"
