#!/usr/bin/env bash
# mutated_graphs.sh BUILD [SECONDS]: reads ONNX models that are changed in their structure (attributes,
# shapes, types, operator sets, functions, branches) for SECONDS (default 1800) of the clock, half of
# them also passed, quantized, packed and planned. BUILD is best one with
# -DTILEWRIGHT_SANITIZE=address,undefined. Exit code 1 if one ended the program or took more than a
# minute; that model is then left in BUILD.
set -uo pipefail

build=$1
seconds=${2:-1800}
corpus=$(dirname "$0")/../tests/fuzz/corpus/onnx
seed=${SEED:-$RANDOM}
found=0
for name in onnx route; do
  program=$build/tests/fuzz/${name}_structure_fuzz
  last=$build/${name}_structure.onnx
  echo "$name, $((seconds / 2)) s, seed $seed"
  if ASAN_OPTIONS=detect_leaks=0 "$program" "$corpus" $((seconds / 2)) "$seed" "$last"; then
    rm -f "$last"
  else
    echo "$name: a finding: $last"
    found=1
  fi
done
exit $found
