#!/usr/bin/env bash
# mutated_graphs.sh BUILD [SECONDS]: reads ONNX models that are changed in their structure (attributes,
# shapes, types, operator sets, functions, branches) for SECONDS (default 1800). BUILD is best one
# with -DTILEWRIGHT_SANITIZE=address,undefined. Exit code 1 if a model ended the program or took more
# than a minute; it is then left in BUILD.
set -uo pipefail

build=$1
seconds=${2:-1800}
corpus=$(dirname "$0")/../tests/fuzz/corpus/onnx
last=$build/mutated_graph.onnx
if ASAN_OPTIONS=detect_leaks=0 "$build/tests/fuzz/onnx_structure_fuzz" "$corpus" "$seconds" \
  "${SEED:-$RANDOM}" "$last"; then
  rm -f "$last"
else
  echo "a finding: $last"
  exit 1
fi
