#!/usr/bin/env bash
# kernels.sh WORK OUT [ROUNDS]: kernel_bench for the networks that docs/measured.md compares, layer by layer beside the
# libraries' best algorithms: every mode, 1 and 2 threads. WORK is networks.sh's, which gets the models; OUT gets a file for each mode and
# number of threads, whose lines of sums are printed. Models that are missing are named and left out.
set -uo pipefail
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { echo "usage: kernels.sh WORK OUT [ROUNDS]" >&2; exit 2; }
models=$1/models out=$2 rounds=${3:-7}
bench=${KERNEL_BENCH:-build/release/bench/kernel_bench}
[ -x "$bench" ] || { echo "kernels.sh: no $bench; scripts/build.sh build/release makes it" >&2; exit 2; }
mkdir -p "$out"
networks=(
  "resnet18_v1" "resnet50_v1" "mobilenet_v2"
  "$models/onnx/backend/test/data/light/light_vgg19.onnx"
  "$models/nudenet/320n.onnx --shape images=1x3x320x320"
  "$models/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx --shape x=1x3x320x320"
)
for mode in fp32 int8 avx2 int8avx2; do
  for threads in 1 2; do
    file=$out/kernels_${mode}_$threads.txt
    {
      echo "kernel_bench --mode $mode --threads $threads --rounds $rounds; $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $(nproc) cores"
      for network in "${networks[@]}"; do
        # shellcheck disable=SC2086  # the options are words
        set -- $network
        if [ "${1%.onnx}" != "$1" ] && [ ! -f "$1" ]; then
          echo "skipped: no $(basename "$1")"
          continue
        fi
        "$bench" "$@" --mode "$mode" --threads "$threads" --rounds "$rounds" | sed "s|$models/||g"
      done
    } >"$file" 2>&1
    grep -E 'ratio|skipped|rror' "$file"
  done
done
