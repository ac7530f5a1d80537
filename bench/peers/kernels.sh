#!/usr/bin/env bash
# kernels.sh WORK OUT [ROUNDS [PART…]]: kernel_bench beside the libraries' best algorithms, layer by layer, with 1 and 2 threads.
# A part is a mode of the networks that docs/measured.md compares (fp32 int8 avx2 int8avx2, and int8avx2w64, weights
# within 64), `products`, the matrix products of encoders and of dense layers of few rows, `thin`, dense layers of few columns,
# or `winograd` and `winogradint8`, Winograd's convolutions against our direct ones (no library); all by default. WORK is networks.sh's, which gets the models; OUT gets a file for each part and number of
# threads (THREADS in the environment, "1 2" without), whose lines of sums are printed. Models that are missing are named and left out.
set -uo pipefail
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { echo "usage: kernels.sh WORK OUT [ROUNDS [PART...]]" >&2; exit 2; }
work=$1 out=$2 rounds=${3:-7}
parts=("${@:4}")
[ ${#parts[@]} -gt 0 ] || parts=(fp32 int8 avx2 int8avx2 int8avx2w64 products thin winograd winogradint8)
models=$work/models
bench=${KERNEL_BENCH:-build/release/bench/kernel_bench}
winograd=$(dirname "$bench")/winograd_bench
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
[ -x "$bench" ] || { echo "kernels.sh: no $bench; scripts/build.sh build/release makes it" >&2; exit 2; }
mkdir -p "$out"
networks=(
  "resnet18_v1" "resnet50_v1" "mobilenet_v2"
  "$models/onnx/backend/test/data/light/light_vgg19.onnx"
  "$models/nudenet/320n.onnx --shape images=1x3x320x320"
  "$models/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx --shape x=1x3x320x320"
)
products=()
for places in 16 64 128 512; do
  model=$models/made/encoder_products_$places.onnx
  [ -f "$model" ] || "$work/venv/bin/python" bench/peers/encoder.py 1 768 12 "$places" fused "$model" 2>/dev/null
  products+=("$model")
done
few=""
for rows in 1 2 3 4 6 8 12 16; do few+=" dense(float32[$rows,4096]MK,float32[4096,4096]NK)->float32"; done
products+=("$few")
thin=""
for rows in 1 4 12; do
  for columns in 1 2 10 16 24 40 100; do
    for k in 768 4096 25088; do thin+=" dense(float32[$rows,$k]MK,float32[$columns,$k]NK)->float32"; done
  done
done

for part in "${parts[@]}"; do
  mode=$part
  tasks=("${networks[@]}")
  run=("$bench" --mode "$mode")
  [ "$part" = products ] && { run=("$bench" --mode fp32) tasks=("${products[@]}"); }
  [ "$part" = thin ] && { run=("$bench" --mode fp32) tasks=("$thin"); }
  [ "$part" = winograd ] && run=("$winograd")
  [ "$part" = winogradint8 ] && run=("$winograd" --int8)
  for threads in ${THREADS:-1 2}; do
    file=$out/kernels_${part}_$threads.txt
    {
      echo "$(basename "${run[0]}") ${run[*]:1} --threads $threads --rounds $rounds, $commit;$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $(nproc) cores"
      for task in "${tasks[@]}"; do
        # shellcheck disable=SC2086  # the options are words
        set -- $task
        if [ "${1%.onnx}" != "$1" ] && [ ! -f "$1" ]; then
          echo "skipped: no $(basename "$1")"
          continue
        fi
        "${run[@]}" "$@" --threads "$threads" --rounds "$rounds" | sed "s|$models/||g"
      done
    } >"$file" 2>&1
    grep -E 'ratio|mean|taken|skipped|[Ee]rror:' "$file"
  done
done
