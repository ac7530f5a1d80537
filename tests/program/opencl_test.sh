#!/usr/bin/env bash
# opencl_test.sh TILEWRIGHT FAULTS: kernels and networks for OpenCL from the command line
# (docs/gpu.md#opencl). Their text, libraries and the emulator need no device; the rest tunes and runs
# on the first one of this machine (PoCL). FAULTS: stand-in for libOpenCL (tests/runtime/fault_opencl).
set -euo pipefail

tilewright=$1 faults=$(realpath "$2")
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
# AutoTVM's templates for Adreno copy operands to images.
adreno='opencl -device=adreno'
for template in conv2d_nchwc.image2d conv2d_nchw_winograd.image2d; do
  expect 0 lower "$conv" --target "$adreno" --template $template --emit opencl
  has '// tw_image ' out
  has 'read_imagef(' out
  expect 0 lower "$conv" --target "$adreno" --template $template --emit loops
  has 'image_rows' out
  expect 0 measure --task "$conv" --target "$adreno" --template $template --device simt
  has 'verified in the emulator' out
done
expect 2 lower "$conv" --target "$adreno -texture_spatial_limit=16" --template conv2d_nchwc.image2d --emit opencl
has 'no image has room' err
expect 2 lower "$dense" --target opencl --emit ptx
has 'expected cuda' err
expect 2 lower "$dense" --emit opencl
has "expected opencl" err
expect 2 tune "$dense" --target opencl --device simt --records r.db --trials 1
has 'no times' err

cat >net.relay <<'RELAY'
def @main(%data: Tensor[(1, 4, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(8, 4, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2])
}
RELAY
expect 0 compile net.relay --target opencl -o net.so
has 'net_set_device' net.h
has '__kernel' net.so
expect 0 verify net.relay --target opencl --device simt
has 'agree with the reference' out
expect 2 run net.so --device simt
has 'the emulator takes the model file, with target opencl' err

cat >adreno.log <<'RECORDS'
{"input": ["opencl -keys=adreno,opencl,gpu -device=adreno", "conv2d_nchwc.image2d", [["TENSOR", [1, 4, 8, 8], "float32"], ["TENSOR", [8, 4, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "float32"], {}], "config": {"index": 0, "code_hash": null, "entity": [["tile_fc", "sp", [-1, 1, 2]], ["tile_y", "sp", [-1, 2, 4]], ["tile_x", "sp", [-1, 1, 8]], ["tile_rcc", "sp", [-1, 1]], ["tile_ry", "sp", [-1, 3]], ["tile_rx", "sp", [-1, 1]], ["auto_unroll_max_step", "ot", 0], ["unroll_explicit", "ot", 0]]}, "result": [[0.001], 0, 1.5, 1600000003.5], "version": 0.2, "tvm_version": "0.11.dev0"}
RECORDS
expect 0 records import adreno.log --records i.db
expect 0 compile net.relay --target "$adreno" --rule autotvm --records i.db -o images.so
has '__write_only image2d_t' images.so

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

# A network: its library, and the model file.
export POCL_CACHE_DIR=$work/pocl
expect 0 verify net.relay net.so
has 'agree with the reference' out
expect 0 run net.so --json
grep -o '"outputs":.*' out >library
expect 0 run net.relay --target opencl --json
grep -o '"outputs":.*' out | diff - library || fail "the model file's outputs differ from the library's"
expect 0 verify net.relay images.so # with images
has 'agree with the reference' out
expect 0 measure --task "$conv" --target "$adreno" --template conv2d_nchwc.image2d
has 'ok' out
expect 0 bench net.so --seconds 0.1
has 'tensors copied there and back' out
expect 2 run net.so --device 99
has 'no OpenCL device 99, there are' err

# Faults of the driver, by the source of a candidate: each costs one trial, and the job goes on.
real=$(ldconfig -p | awk '/libOpenCL[.]so[.]1 / { print $NF; exit }')
mkdir faults
OCL_ICD_REAL=$real OCL_ICD_FOLDER=$work/faults OCL_ICD_FAULTS='build@2 resources@3 hang@4 crash@5 lost@6' \
  LD_LIBRARY_PATH=$(dirname "$faults") \
  expect 0 tune "$conv" --target opencl --records faults.db --trials 8 --strategy random --json
has '"trials":8' out
has '"failures":{"build_failed":1,"device_lost":2,"run_failed":1,"run_timeout":1}' out
expect 0 records check faults.db

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
