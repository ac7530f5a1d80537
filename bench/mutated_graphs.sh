#!/usr/bin/env bash
# mutated_graphs.sh BUILD [SECONDS [onnx|route]]: reads structurally mutated ONNX models
# (attributes, shapes, types, opsets, functions, branches) for SECONDS (default 1800). With route,
# it also quantizes them in several ways, packs them, writes them as Relay text and plans their
# kernels. Preferably, BUILD uses -DTILEWRIGHT_SANITIZE=address,undefined. Exit code 1 if a model
# crashed the program or took more than a minute; the model then remains in BUILD.
set -uo pipefail

build=$1
seconds=${2:-1800}
corpus=$(dirname "$0")/../tests/fuzz/corpus/onnx
what=${3:-onnx}
last=$build/mutated_graph_$what.onnx
if ASAN_OPTIONS=detect_leaks=0 "$build/tests/fuzz/${what}_structure_fuzz" "$corpus" "$seconds" \
  "${SEED:-$RANDOM}" "$last"; then
  rm -f "$last"
else
  echo "a finding: $last"
  exit 1
fi
