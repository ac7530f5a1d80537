#!/usr/bin/env bash
# three.sh WORK [OPTIONS OF three.py…]: built-in networks by Tilewright, ONNX Runtime and OpenVINO, in turns. Makes a virtual
# environment in WORK for the first run, which needs a network; without Python it says so and ends with 0.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { echo "usage: three.sh WORK [OPTIONS]" >&2; exit 2; }
work=$1
shift
program=${TILEWRIGHT:-build/release/python_free_cli/tilewright}
[ -x "$program" ] || { echo "three.sh: no program at $program; scripts/build.sh makes it" >&2; exit 2; }
mkdir -p "$work"
command -v python3 >/dev/null || { echo "skipped: networks beside ONNX Runtime and OpenVINO (no python3)"; exit 0; }
python=$work/venv/bin/python
if ! "$python" -c 'import onnxruntime, openvino' 2>/dev/null; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q onnxruntime==1.32.0 openvino==2026.4.1 numpy
fi
grep -m1 'model name' /proc/cpuinfo
exec "$python" bench/peers/three.py "$work" "$program" "$@"
