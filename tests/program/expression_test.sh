#!/usr/bin/env bash
# expression_test.sh TILEWRIGHT: tensor expressions through the program, from a text to a C
# function.
set -euo pipefail

tilewright=$1
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

cat >mix.tw <<'TEXT'
# Twice the product, clamped to non-negative values.
size N = 24
input A: float32[N, 16]
const W: float32[20, 16]
C[i: N, j: 20] = sum(k: 16) A[i, k] * W[j, k]
Y[i: N, j: 20] = max(2.0 * C[i, j], 0.0)
TEXT
sed 's/A\b/Left/g; s/\bk\b/q/g; s/C[i: N, j: 20]/C[i: N, j: 20]/' mix.tw >same.tw

expect 0 space mix.tw
has 'auto.cpu/tiles v3' out
has 'auto.cpu/fixed v1: 1 config, ' out
expect 0 space mix.tw --json
has '"task":"expression(input x0:float32[24,16];const x1:float32[20,16];' out
expect 0 lower mix.tw --emit loops
has 'kernel(x0: ' out
expect 0 measure --task mix.tw
has 'GFLOP/s' out
expect 0 measure --task mix.tw --template auto.cpu/flat
expect 0 measure --task "$source_folder/docs/examples/expressions/argmax.tw"
# Constants come first in their keys.
for name in gather quantized_dot; do
  expect 0 measure --task "$source_folder/docs/examples/expressions/$name.tw"
  has 'GFLOP/s' out
done
expect 0 measure --task "$source_folder/docs/examples/expressions/gather.tw" --target 'cuda -arch=sm_80' --device simt
has 'verified in the emulator' out

# Tuned with one spelling, served for another, and compiled to a library that can be called.
expect 0 tune mix.tw --trials 8 --records r.db
expect 0 query same.tw --records r.db
has ' hit' out
expect 0 compile same.tw --records r.db --verify all -o mix.so
has ' 0 untuned' out
[ -s mix.h ] || fail "no header"
expect 0 run mix.so --json
has '"shape":[24,20]' out

# Integers wrap, so an index computed from them can have any value.
printf 'input T: float32[64]\nY[i: 64] = T[(i * 6364136223846793005 + 1) %% 64]\n' >wrapped.tw
expect 0 compile wrapped.tw -o wrapped.so
expect 0 compile mix.tw --records r.db -o sampled.so
has ' 2 of 2 operators compared' out

# A search of some templates only. For an unknown template, the message lists the available ones.
expect 0 tune mix.tw --trials 2 --template auto.cpu/flat --records flat.db
expect 0 query mix.tw --records flat.db
has 'auto.cpu/flat #' out
expect 2 tune mix.tw --trials 2 --template nothing --records flat.db
has "no template 'nothing', expected some of: auto.cpu/tiles auto.cpu/flat" err
expect 2 tune mix.tw --trials 2 --template dense_packed.cpu --records flat.db
has 'serves none of the tasks' err

printf 'input A: float32[8]\nB[i: 8] = A[i + 1]\n' >outside.tw
expect 2 lower outside.tw
has 'outside.tw:2:11: index 0 of A is 1 to 8, expected 0 to 7' err
expect 2 compile outside.tw -o never.so
has 'outside.tw:2:11' err
expect 2 tune missing.tw --trials 1 --records r.db
expect 2 space mix.tw --dim N=8
echo "expression_test: all as expected"
