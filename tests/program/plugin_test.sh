#!/usr/bin/env bash
# plugin_test.sh TILEWRIGHT EXAMPLE ROUGH: tunes with the template and the strategy of a plugin.
# ROUGH is a plugin whose strategies and template break their contracts.
set -euo pipefail

tilewright=$1 example=$2 rough=$3
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

expect 0 model squeezenet1_1 -o m.onnx
cp "$example" acme.so
expect 0 space m.onnx#1 --plugin acme.so
has 'acme/conv_rows v1' out
expect 0 targets --json --plugin acme.so
has 'acme/conv_rows' out
expect 0 lower m.onnx#1 --plugin acme.so --template acme/conv_rows
has 'kernel(data: ' out
expect 2 lower m.onnx#1 --template acme/conv_rows
has "no template 'acme/conv_rows'" err
expect 0 measure --task m.onnx#1 --plugin acme.so --template acme/conv_rows
has 'ok' out

# The search visits both kinds of templates. Workers, which load the plugin too, build and verify
# each kernel.
tune=(tune m.onnx#1 --plugin acme.so --strategy acme/stride --records r.db)
expect 0 "${tune[@]}" --trials 16
expect 0 records list r.db --template acme/conv_rows --json
has '"outcome":"ok"' out
if grep -qE '"outcome":"(wrong_result|build_failed|run_failed)"' out; then fail "$(head -c 800 out)"; fi
expect 0 "${tune[@]}" --trials 24
has 'going on with a job that has 16 trials' err
if grep -qF 'does not replay' err; then fail "$(cat err)"; fi
expect 0 query m.onnx#1 --records r.db --plugin acme.so
has 'hit' out
expect 0 records check r.db --plugin acme.so
expect 0 records check r.db
expect 2 tune m.onnx#1 --strategy acme/stride --records r.db --trials 24
has 'expected one of auto, evolve, genetic, grid, model, random, surrogate' err

# A fault of a plugin ends the command, and a job keeps its trials.
for strategy in far twice fails throws nothing; do
  expect 2 tune m.onnx#1 --plugin "$rough" --strategy "rough/$strategy" --records s.db --trials 40
  has "rough/$strategy: " err
done
expect 0 records list s.db
expect 2 query m.onnx#1 --records r.db --plugin missing.so
has '--plugin missing.so: No such file' err
expect 2 space m.onnx#1 --plugin m.onnx
has '--plugin m.onnx: ' err
expect 0 tune m.onnx#1 --plugin "$rough" --strategy grid --records t.db --trials 12
expect 0 records list t.db --json
has '"outcome":"ok"' out
echo "plugin_test: passed"
