#!/usr/bin/env bash
# mutated_graphs.sh BUILD [SECONDS [onnx|route]]: reads ONNX models that are changed in their structure
# (attributes, shapes, types, operator sets, functions, branches) for SECONDS (default 1800); with
# route it also quantizes them in several ways, packs them, writes them as Relay text and plans their
# kernels. BUILD is best one with -DTILEWRIGHT_SANITIZE=address,undefined. Exit code 1 if a model
# ended the program or took more than a minute; it is then left in BUILD.
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
