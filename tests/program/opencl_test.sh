#!/usr/bin/env bash
# opencl_test.sh TILEWRIGHT: kernels for OpenCL from the command line (docs/gpu.md#opencl). Their text
# and the emulator need no device; the rest tunes on the first one of this machine (PoCL).
set -euo pipefail

tilewright=$1
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

dense='dense(float32[16,64]MK,float32[32,64]NK)->float32'
conv='conv2d(float32[1,8,14,14]NCHW,float32[16,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32'
for task in "$dense" "$conv" 'dense(int8[16,64]MK,int8[32,64]NK)->int32' \
  'dense(float16[16,64]MK,float16[32,64]NK)->float32'; do
  expect 0 lower "$task" --target opencl --emit opencl
  has '__kernel __attribute__((reqd_work_group_size(' out
  expect 0 measure --task "$task" --target opencl --device simt
  has 'verified in the emulator' out
done
expect 2 lower "$dense" --target opencl --emit ptx
has 'expected cuda' err
expect 2 lower "$dense" --emit opencl
has "expected opencl" err
expect 2 tune "$dense" --target opencl --device simt --records r.db --trials 1
has 'no times' err

expect 0 targets --json
grep -q '"opencl":{"devices"' out || { echo "opencl_test: no OpenCL device here (scripts/setup.sh)"; exit 77; }
expect 2 tune "$dense" --target opencl --device 99 --records r.db --trials 1
has 'device: 99, there are' err
for task in "$dense" "$conv"; do
  expect 0 measure --task "$task" --target opencl
  has 'ok' out
  expect 0 tune "$task" --target opencl --records r.db --trials 4 --strategy random
  expect 0 query "$task" --target opencl --records r.db --json
  has '"kind":"hit"' out
  has '"target":"opencl"' out
  expect 1 query "$task" --target 'cuda -arch=sm_61' --records r.db --json # the same templates
  has '"kind":"miss"' out
done
expect 0 records check r.db

# Arithmetic beyond 32 bits, sums that wrap, infinities, conditional indices.
number=0
while IFS='|' read -r inputs stage; do
  number=$((number + 1))
  printf '%b\n%b\n' "$inputs" "$stage" >"e$number.tw"
  for device in "" "--device simt"; do
    # shellcheck disable=SC2086
    expect 0 measure --task "e$number.tw" --target opencl $device
    matches 'ok|verified' out
  done
done <<'END'
input X: float32[2048, 8]|Y[i: 2048, j: 8] = X[(i * 3000000 + j) % 2048, j]
input X: float32[1024, 8]|Y[i: 1024, j: 8] = X[i, j] + float32(i * 3000000 + j)
input T: float32[50]\ninput I: int64[256]|Y[i: 256] = T[(I[i] * 1000000007) % 50]
input X: int32[256]|Y[i: 256] = X[i] + 2147483000 < X[i]
input X: float32[256]|Y[i: 256] = softplus(X[i] / 0.0)
END
