#!/usr/bin/env bash
# program_test.sh TILEWRIGHT: end-to-end test of the program with its exit codes.
set -euo pipefail

tilewright=$1
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
corpus="$source_folder/tests/fuzz/corpus/onnx"
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

if ldd "$tilewright" | grep -qi python; then fail "links Python"; fi

expect 0 model squeezenet1_1 -o m.onnx
expect 0 tasks m.onnx --json
has '"distinct_tasks": 18' out
expect 0 inspect m.onnx
expect 0 inspect m.onnx --check
has 'compile takes m.onnx for llvm' err
expect 0 space m.onnx#1
cp out space
expect 0 space m.onnx --task 1
cmp -s out space || fail "--task 1 and #1 are two tasks"
# A file with several tasks: they are listed, with how to name one.
expect 2 space m.onnx
has 'm.onnx has 18 tasks; name one: --task N, or FILE#N' err
has '   17  conv2d ' err
fits err
expect 0 tasks m.onnx
has 'fused with' out
fits out
expect 0 lower m.onnx#1 --emit loops
has 'kernel(data: ' out
expect 0 lower m.onnx --task 1 --emit loops
has 'kernel(data: ' out

expect 0 quantize m.onnx -o q.relay
has 'operators work on integers' out
has 'skip_conv_layers has 0: ' out
has ' dB on 1 synthetic input; global_scale' out
has 'ranges were not measured' err
expect 0 inspect q.relay
expect 0 quantize m.onnx --set rules=2023-08 --passes fold,partition --print-after partition
has 'annotation.cast_hint(' out
expect 0 quantize m.onnx --set partition_conversions=enabled -o parts.relay
has 'def @quantized_main(' parts.relay
expect 0 verify q.relay parts.relay
expect 2 quantize m.onnx --set partition_conversions=enabled --set do_simulation=true -o parts.relay
has 'realize must run' err
images="$source_folder/tests/fuzz/corpus/data"
expect 2 quantize m.onnx --set calibrate_mode=percentile --data "$images/colour.jpg" -o q.relay
has '--image-fit crop' err
expect 0 quantize m.onnx --set calibrate_mode=percentile --data "$images/colour.jpg" --image-fit crop -o q.relay
expect 2 quantize m.onnx --data "$images/colour.jpg" --image-std 0,1,1 -o q.relay
expect 2 quantize m.onnx --set nbits=8 -o q.relay
has 'expected one of nbit_input' err
expect 2 quantize m.onnx --set calibrate_mode=percentile -o q.relay
has 'needs a data set' err
expect 2 quantize m.onnx
expect 2 quantize q.relay -o again.relay
has 'quantized already' err
expect 2 quantize "$corpus/qdq.onnx" -o again.relay
has 'quantized already' err
expect 0 quantize m.onnx --json --print-after realize -o q.relay
has '"listing":"' out
[ "$(wc -l <out)" -eq 1 ] || fail "not one line of JSON: $(head -c 500 out)"

# Tensors larger than the address space or the memory give ordinary errors.
expect 1 measure --task 'dense(float32[1000000,1000000]MK,float32[1000000,1000000]NK)->float32'
has 'takes 60000.0 GB of memory, there are ' err
printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(500000000), int8]) {\n  nn.relu(%%x)\n}\n' >half.relay
if (ulimit -v 450000 && "$tilewright" version) >out 2>&1; then  # a sanitizer takes more by itself
  (ulimit -v 450000 && expect 1 verify half.relay half.relay)
  has 'tilewright verify: out of memory' err
fi

design="--vta-config $source_folder/configs/vta/sim.json"
vta="--target vta $design"
packed='conv2d(int8[1,2,6,6,1,16]NCHW1n16c,int8[2,2,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->int32'
narrow='add(channel:int32);shift_right(7);clip(-127,127);cast(int8)'
expect 0 space "$packed" $vta
has 'conv2d_packed.vta' out
expect 0 lower "$packed" $vta --epilogue "$narrow" --emit vta
has 'load.inp ' out
expect 0 lower "$packed" $vta --epilogue "$narrow" --emit cost
has 'gemm_counter' out
has 'pynq_shared_bus' out
expect 2 lower "$packed" $vta --epilogue "$narrow" --emit loops
expect 2 lower "$packed" $vta
has 'a VTA stores int8' err
expect 0 measure --task "$packed" $vta --epilogue "$narrow"
has ' cycles, verified' out
expect 2 space "$packed" --target vta
has '--vta-config' err

gpu='dense(int8[32,64]MK,int8[16,64]NK)->int32'
expect 0 measure --task "$gpu" --target 'cuda -arch=sm_80' --device simt
has 'verified in the emulator' out
expect 2 measure --task "$gpu" --device simt
has 'expected cuda' err
amd='rocm -model=gfx906'
expect 0 measure --task "$gpu" --target "$amd" --device simt
has 'verified in the emulator' out
expect 0 lower "$gpu" --target "$amd" --emit asm
has 'v_dot4_i32_i8' out
expect 0 lower "$gpu" --target "$amd" --emit resources
has ' vector registers, ' out
expect 0 lower "$gpu" --target "$amd" --emit hsaco
[ "$(head -c 4 out | tail -c 3)" = ELF ] || fail 'a code object is an ELF file'
expect 2 lower "$gpu" --target "$amd" --emit ptx
has 'expected cuda' err
expect 2 lower "$gpu" --target 'cuda -arch=sm_80' --emit hsaco
has 'expected rocm' err
expect 2 lower "$gpu" --target 'rocm -model=gfx999' --emit loops
has 'not a processor of AMD GPUs' err
expect 2 tune m.onnx#1 --records r.db --trials 6 --target 'cuda -arch=sm_80' --device simt
has 'no times' err
cat >net.relay <<'RELAY'
def @main(%data: Tensor[(1, 4, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(8, 4, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2])
}
RELAY
expect 0 quantize net.relay --set skip_conv_layers=None --set rules=2023-08 --print-after realize
has 'right_shift(' out
expect 0 verify net.relay --target 'cuda -arch=sm_75' --device simt
has 'agree with the reference' out
expect 0 run net.relay --target 'cuda -arch=sm_75' --device simt --json
has '"made_up_constants":{"count":1,"seed":"name"}' out
expect 0 compile net.relay --target 'cuda -arch=sm_75' -o gpu.so
has 'net_run_on_device' gpu.h
# A file without contents: every command reports the synthetic constants, also for files derived
# from it.
has_synthetic() {
  has 'warning: ' err
  has ': 1 constants have no contents of their own but synthetic ones, seeded by their names' err
}
synthetic='"made_up_constants":{"count":1,"seed":"name"}'
# The best of the modes, on synthetic inputs if none are given; a poor result is not reported as
# good.
expect 0 quantize net.relay --set skip_conv_layers=None --calibrate auto --json -o made.relay
has '"candidates":[{"calibrate_mode":"percentile","sqnr_db":' out
has '"made_up_inputs":true' out
has '"float":[]' out
has 'may be far from real ones' err
# For each mode separately: auto reports its value, and the file contains that of the best. Cubes of
# random numbers and their exponentials have different best modes.
inputs_by() {  # name, body
  printf 'def @main(%%x: Tensor[(8, 4, 8, 8), float32]) {\n%s\n}\n' "$2" >"$1.relay"
  expect 0 compile "$1.relay" -o "$1.so"
  expect 0 run "$1.so" --made-up random --output "$1.npy"
}
finest='--set skip_conv_layers=None --set weight_scale=max --set per_channel=True --set unsigned=True'
inputs_by cubes '%0 = multiply(%x, %x); multiply(%0, %x)'
inputs_by exponents '%0 = multiply(%x, 6f); exp(%0)'
for data in cubes exponents; do
  best='' most=-1000
  for mode in global_scale percentile mse kl_divergence; do
    measured="--data $data.npy"
    if [ $mode = global_scale ]; then measured=''; fi
    # shellcheck disable=SC2086
    expect 0 quantize net.relay $finest --calibrate $mode $measured -o $mode.relay
  done
  expect 0 quantize net.relay --set skip_conv_layers=None --calibrate auto --data $data.npy -o auto.relay
  while IFS=': ' read -r mode decibels _; do
    case $mode in global_scale | percentile | mse | kl_divergence) ;; *) continue ;; esac
    if awk "BEGIN { exit !($decibels > $most) }"; then best=$mode most=$decibels; fi
  done <err
  cmp -s auto.relay "$best.relay" || fail "--calibrate auto did not keep $best, the best for $data"
  eval "best_for_$data=$best"
done
[ "$best_for_cubes" != "$best_for_exponents" ] || fail "$best_for_cubes is the best mode for both"
expect 0 quantize net.relay --set skip_conv_layers=None --set global_scale=0.001 -o made.relay
has 'warning: little of the results is left (' err
expect 0 quantize net.relay --set skip_conv_layers=None --check 0 -o made.relay
! grep -qF ' dB' out || fail 'compared though --check 0 was given'
expect 2 quantize net.relay --calibrate auto --set calibrate_mode=mse -o made.relay
expect 2 quantize net.relay --calibrate auto --passes fold,partition -o made.relay
expect 2 quantize net.relay --calibrate best -o made.relay
has 'global_scale, percentile, kl_divergence or mse' err
# Weights of 7 bits use other multiply instructions, and become separate tasks if that is faster.
tasks_of() { expect 0 tasks made.relay --target "llvm -mcpu=$1" --json; }
# shellcheck disable=SC2086
expect 0 quantize net.relay $finest --reduce-range -o made.relay
tasks_of haswell
has ',w64)->int32' out
tasks_of cascadelake
! grep -qF ',w64)' out || fail 'narrow weights where nothing is gained'
# shellcheck disable=SC2086
expect 0 quantize net.relay $finest -o made.relay
tasks_of haswell
! grep -qF ',w64)' out || fail 'weights of 8 bits for narrow ones'
expect 2 quantize net.relay --reduce-range --set nbit_weight=8 -o made.relay
for command in 'compile net.relay -o made.so' 'run made.so' 'bench made.so --seconds 0.01' \
  'verify net.relay made.so' 'verify net.relay --target cuda --device simt' 'compile net.relay --format bundle -o bundled' \
  'run bundled' 'quantize net.relay --set skip_conv_layers=None -o made.relay' 'compile made.relay -o quantized.so' \
  'run quantized.so' 'run net.relay --target cuda --device simt --seeded'; do
  expect 0 $command --json
  has_synthetic
  has "$synthetic" out
done
expect 1 pack net.relay $design -o packed.relay --json  # floats
has_synthetic
has "$synthetic" out
expect 2 run made.so --seeded
has 'contains its constants' err
expect 0 run made.so --made-up quantized:0.5:3 --json
expect 2 run made.so --made-up quantized:0:3
has 'expected ramp, quantized, random, or quantized:SCALE:ZERO_POINT' err
for value in nan -1 inf; do expect 2 verify net.relay made.so --tolerance $value; done
expect 2 verify net.relay made.relay --min-sqnr nan
has 'expected a finite number' err

expect 2 run gpu.so --device simt
has 'takes the model file' err
expect 2 bench gpu.so --device 99
has '--device simt' err

cat >bytes.relay <<'RELAY'
def @main(%data: Tensor[(1, 64, 8, 8), int8]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 64, 3, 3), int8] */, padding=[1, 1, 1, 1], out_dtype="int32");
  nn.relu(%0)
}
RELAY
expect 0 lower bytes.relay#0 --template conv2d_mma.cuda --target 'cuda -arch=sm_80' --emit ptx
has 'cp.async.cg.shared.global' out

expect 0 tune m.onnx#1 --records r.db --trials 6 --json
has '"trials":6' out
expect 0 verify net.relay --target 'cuda -arch=sm_75' --device simt --records r.db
has 'no record of their own for cuda -arch=sm_75:' err
expect 0 tune m.onnx#1 --records r.db --trials 6 --json
has '"trials_this_run":0' out
expect 0 query m.onnx#1 --records r.db
has ': hit' out
has '  target    llvm -mcpu=' out
fits out
expect 1 query m.onnx --records r.db --model none
matches '^ # +task +answer +time +config +template' out
matches '18 tasks for llvm -mcpu=[a-z0-9-]+: 1 hit, ' out
matches '^ +[0-9]+  no records' out
fits out
says 'to tune them: tilewright tune m.onnx --records r.db --budget 10m' err
expect 1 query m.onnx --records r.db --model none --quiet
[ ! -s err ] || fail "a note in spite of --quiet: $(cat err)"
# A job file has the model, the store and the limits of a target.
echo '{"graph": "m.onnx", "records": "r.db", "trials": 6}' >job.json
expect 1 query --job job.json --model none
matches '18 tasks for llvm -mcpu=[a-z0-9-]+: 1 hit, ' out
says 'to tune them: tilewright tune --job job.json' err
expect 0 query --job job.json m.onnx#1
has ': hit' out
expect 2 query
has 'no task given (TASK, or --job FILE)' err
expect 0 compile m.onnx --records r.db --no-packages --model none -o untuned.so
has 'tunable operators have no record of their own for llvm -mcpu=' err
matches '^ +[0-9]+  no records; default config' err
says 'to tune them: tilewright tune m.onnx --records r.db --budget 10m' err
[ "$(wc -l <err)" -le 12 ] || fail "many lines on misses: $(cat err)"
fits out
expect 0 compile m.onnx --records r.db --no-packages --model none -o untuned.so --quiet
[ ! -s err ] || fail "a note in spite of --quiet: $(cat err)"
# With the library and without it.
expect 0 query m.onnx#1 --records r.db --libs dnnl
expect 2 query m.onnx#1 --records r.db --libs none
has "no library 'none', expected some of" err
expect 0 records check r.db
has 'sound' out

# The results of a job with several metrics. Joules were not requested, so there is no sum of them.
expect 0 tune m.onnx#1 --records front.db --trials 4 --metric seconds,code_bytes
expect 0 query m.onnx#1 --records front.db --front
has 'on the front by seconds,code_bytes' out
expect 1 query m.onnx --records front.db --front
has '0 on the front' out
expect 0 query m.onnx#1 --records front.db --prefer code_bytes --json
has '"sums":{"code_bytes":' out
grep -q joules out && fail "a sum of joules in: $(head -c 800 out)"

expect 0 records stats r.db --json
trials=$(grep -o '"trials":[0-9]*' out | head -1 | cut -d: -f2)  # finalists are measured again
[ "$trials" -ge 6 ] || fail "$trials trials, expected 6 or more"
expect 0 records stats r.db
matches '^measured for llvm .* on .*:$' out
matches '^task +trials +in races +verified +failed +best' out
fits out
expect 0 records best r.db
matches '^task +value +noise +config +template +race' out
fits out
expect 0 records list r.db --outcome ok
matches '^record +outcome +value +task +config +template' out
fits out
expect 0 records export-csv r.db -o r.csv
[ "$(wc -l <r.csv)" -eq $((trials + 1)) ] || fail "r.csv has $(wc -l <r.csv) lines"
expect 0 records merge all.db r.db --json
has "\"added\":$trials" out
expect 0 records merge all.db r.db
has "0 added, $trials known" out
expect 0 records split all.db -o parts --by op
matches '^conv2d +'$trials' +0 +conv2d-' out
fits out
expect 0 records prune all.db --best 1 --training 2
expect 0 records vacuum all.db
expect 0 records check all.db
expect 2 records merge all.db nowhere.db

expect 0 package keygen -o lab --comment tests
expect 2 package build r.db -o packages --license CC0-1.0
has '--unsigned' err
expect 0 package build r.db -o packages --license CC0-1.0 --key lab
has 'signed' out
package=$(ls packages/*.twpkg)
expect 0 package build r.db -o again.twpkg --license CC0-1.0 --key lab
cmp "$package" again.twpkg || fail "building twice gave other bytes"
expect 2 package verify "$package"
has 'not trusted' err
expect 0 package verify "$package" --key lab.pub
expect 2 package install packages
expect 0 package trust lab.pub
expect 0 package install packages
expect 0 package list
has 'tests (' out
expect 0 package verify --installed
expect 0 query m.onnx#1
has 'package ' out
expect 1 query m.onnx#1 --no-packages
expect 0 query m.onnx#1 --no-packages --accept default --model none --json
has '"kind":"default"' out
expect 2 query m.onnx#1 --no-packages --kernel
expect 0 query m.onnx#1 --no-packages --accept default --model none --json --kernel
has '"kernel":{"format":1,"workload":"conv2d(' out
has '"loops":{"name":"kernel"' out
expect 0 query 'dense(float32[8,96]MK,float32[200,96]NK)->float32' --no-packages --accept default --model none --json --kernel
has '"schedule":"# dense_packed.cpu ' out
expect 1 query m.onnx#1 --no-packages --model none --json --kernel
has '"kernel":null,"no_kernel":"a miss has no kernel"' out
expect 2 query m.onnx#1 --float-error none
expect 0 query 'conv2d(float32[1,64,28,28]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32' --no-packages --accept default
has 'conv2d_winograd.cpu' out
expect 0 query 'conv2d(float32[1,64,28,28]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32' --no-packages --accept default --float-error strict
has 'conv2d_direct.cpu' out
# The shipped model is consulted first; it was trained for AVX-512.
expect 0 query m.onnx#1 --no-packages --accept default --target 'llvm -mcpu=skylake-avx512' --json
has '"kind":"model"' out
expect 0 package query "$package" m.onnx#1
expect 0 package diff "$package" again.twpkg
has '0 different' out
expect 0 compile m.onnx --json -o packaged.so
has '"source":"package ' out
head -c 2000 "$package" >cut.twpkg
expect 2 package verify cut.twpkg
expect 0 package build r.db -o plain.twpkg --license CC0-1.0 --unsigned
expect 2 package install plain.twpkg
has '--allow-unsigned' err
expect 0 package remove "$(basename "$package" .twpkg)"
expect 1 query m.onnx#1

cat >tuning.log <<'END'
# made up
{"input": ["cuda -model=card", "dense_small_batch.gpu", [["TENSOR", [1, 512], "float32"], ["TENSOR", [1000, 512], "float32"], null, "float32"], {}], "config": {"index": 6, "code_hash": null, "entity": [["tile_k", "sp", [-1, 64]]]}, "result": [[5e-05], 0, 1.5, 1600000000.5], "version": 0.2, "tvm_version": "0.11.dev0"}
{"input": ["cuda -model=card", "dense_small_batch.gpu", [["TENSOR", [1,
END
expect 1 records import tuning.log --records i.db --dry-run --json
[ ! -e i.db ] || fail "a dry run made a store"
has '"imported":1' out
expect 1 records import tuning.log --records i.db
has 'tuning.log:3: refused: ' err
dense="('dense_small_batch.gpu', ('TENSOR', (1, 512), 'float32'), ('TENSOR', (1000, 512), 'float32'), None, 'float32')"
expect 0 query "$dense" --rule autotvm --target 'cuda -model=other' --records i.db --json
has '"kind":"hit"' out
has '"verified":false' out
has '"tile_k":[8,64]' out
expect 0 query "$dense" --rule autotvm --target 'cuda -model=other' --records i.db
has 'dense 1x512x1000: hit (card)' out
expect 0 query "$dense" --rule autotvm --target 'cuda -model=card' --records i.db
matches '^dense 1x512x1000: hit$' out
expect 1 query "$dense" --rule autotvm --target llvm --records i.db
says "its records are for 'cuda -model=card'" out
! grep -q 'nearest' out || fail "the task itself is the nearest one"
says "tilewright tune 'dense(float32[1,512]MK,float32[1000,512]NK)->float32' --target llvm" err
# A question by the own rule names the imported records and how to ask for them.
expect 1 query "$dense" --target 'cuda -arch=sm_80' --records i.db --no-packages
says "imported records, which are not verified, serve 1 of them: tilewright query" err
says "--records i.db --rule autotvm --target 'cuda -arch=sm_80'" err
expect 1 query "$dense" --target 'llvm -mcpu=x86-64' --records i.db --no-packages --model none
says "1 of them has imported records, which are not verified, for 1 other target:" err
says "--rule autotvm --target 'cuda -model=card'" err
expect 0 records stats i.db
has "tilewright query MODEL.onnx --rule autotvm --target 'cuda -model=card' --records i.db" out
matches '^tuning.log +cuda -model=card +1 +1 +0$' out
says 'use them with --rule autotvm' out
has '0 tasks, 0 trials, 0 jobs (0 unfinished), 1 imported record' out
grep -v '^  tilewright' out >lines && fits lines  # commands are whole
expect 0 records stats i.db --json
has '"imported":[{"package":"","file":"tuning.log","target":"cuda -model=card","records":1' out
# Targets that a query cannot tell apart are one row, and rows add up.
{ sed -n 2p tuning.log; sed -n 2p tuning.log | sed 's/-model=card/-model=card -max_num_threads=512/; s/5e-05/6e-05/'; sed -n 2p tuning.log | sed 's/-model=card/-model=disc/'; } >alike.log
expect 0 records import alike.log --records alike.db
expect 0 records stats alike.db
matches '^alike.log +cuda -model=card +2 +0$' out  # the same task for both: their numbers have no sum
matches '^alike.log +cuda -model=disc +1 +1 +0$' out
matches '^all +3 +0$' out
expect 0 records list i.db
has 'imported from tuning.log, not verified, for cuda -model=card:' out
matches '^ +2 +ok +50.0 µs +dense 1x512x1000 +#6 +dense_small' out
fits out
expect 0 records list i.db --outcome run_failed
[ ! -s out ] || fail "a record that did not fail: $(cat out)"
expect 0 records list i.db --json
has '"imported":true' out
expect 0 records best i.db
matches '^ +2 +50.0 µs +dense 1x512x1000' out
expect 0 records split i.db -o imported --by target
matches '^cuda -model=card +0 +1 +cuda_-model' out
expect 0 records import --help
has '  unreachable      no compiler asks for a task with these arguments' out
expect 1 records export --records i.db --target llvm -o none.log
[ ! -e none.log ] || fail "an empty file was written"
has 'nothing is exported: no record has this --target and --task' err
expect 1 records export i.db --target llvm
[ ! -s out ] || fail "a record of another target: $(cat out)"
# A reader that has enough (| head) is not a failure, and nothing is counted as 0.
for i in $(seq 3000); do sed -n 2p tuning.log | sed "s/5e-05/${i}e-05/"; done >many.log
expect 0 records import many.log many.db
("$tilewright" records export many.db 2>head.err || echo "code $?" >>head.err) | head -1 >/dev/null
! grep -q . head.err || fail "export | head says: $(cat head.err)"
# The store is an argument or --records, for every verb; filters; whole targets in a pipe.
expect 0 records stats --records i.db
expect 2 records stats i.db --records many.db
has 'the store is given already' err
expect 0 records best i.db --task dense_small_batch.gpu --target cuda
matches '50.0 µs' out
expect 1 records best i.db --target 'cuda -model=none'
has 'no record has this --target and --task' err
expect 0 records list --records i.db --task '["dense_small_batch.gpu", [["TENSOR", [1, 512], "float32"], ["TENSOR", [1000, 512], "float32"], null, "float32"]]'
matches '50.0 µs' out
expect 1 records list i.db --target rocm
# Wrong and empty files.
printf '# Read me\n\nsome text\nmore text\n' >README.md
expect 2 records import README.md --records no.db
[ "$(wc -l <err)" -eq 1 ] || fail "one line for a file that is not a log: $(cat err)"
has 'README.md: not an AutoTVM log: line 3:' err
: >empty.log
expect 1 records import empty.log --records no.db
has 'nothing was imported: the files have no records' err
expect 1 records import tuning.log --target rocm --records no.db
has "no record is for the target 'rocm'" err
[ ! -e no.db ] || fail "a store was made for nothing"
expect 2 query "$dense" --rule autotvm --tophub nosuch --target cuda --records i.db
has "--tophub: 'nosuch', expected one of: adreno" err
expect 2 query "$dense" --target 'llvm -threads=2' --records i.db
has "-threads: unknown; did you mean '-num-threads'?" err
expect 2 tune m.onnx --records i.db --budget 30
has 'duration "30" has no unit, expected 30s, 30m or 30h' err
has 'For a number of trials: --trials 30' err
expect 0 records export --records i.db --target cuda --task dense_small_batch.gpu
[ "$(wc -l <out)" -eq 1 ] || fail "one record is of this target and template"
expect 2 records export --records i.db --task 'dense('
expect 0 records export --best --records i.db -o best.log
[ "$(cat best.log)" = "$(sed -n 2p tuning.log)" ] || fail "the exported line is not the imported one"
expect 2 records import missing.log --records i.db
expect 2 records export --format other --records i.db

expect 0 tune m.onnx#1 --records learned.db --trials 20
expect 0 train --records learned.db -o cpu.model
has 'of 1 task' out
expect 1 query m.onnx#2 --records i.db --accept model --model none
expect 0 query m.onnx#2 --records i.db --model cpu.model --json
has '"kind":"model"' out
# A Winograd record is skipped and reported; none of its configs is proposed.
conv='conv2d(float32[1,32,28,28]NCHW,float32[32,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32'
expect 0 tune "$conv" --records tiles.db --trials 4 --template conv2d_winograd.cpu
expect 0 query "$conv" --records tiles.db --no-packages
has 'conv2d_winograd.cpu' out
expect 1 query "$conv" --records tiles.db --no-packages --float-error strict
says 'template conv2d_winograd.cpu does more to floats than to order sums another way, so its records are left out' out
expect 0 query "$conv" --records tiles.db --no-packages --float-error strict --accept default --json
has '"template":"conv2d_direct.cpu"' out
expect 2 tune "$conv" --records none.db --trials 4 --template conv2d_winograd.cpu --float-error strict
expect 0 tune "$conv" --records sums.db --trials 6 --float-error strict
[ "$(sqlite3 -readonly sums.db "SELECT count(*) FROM trial WHERE template LIKE 'conv2d_winograd%'")" = 0 ] ||
  fail "a trial of Winograd"
for strictness in bounded strict; do
  expect 0 compile m.onnx --no-packages --target 'llvm -mcpu=skylake-avx512' --float-error $strictness --json -o $strictness.so
  mv out $strictness.json
done
has '"conv2d_winograd.cpu"' bounded.json
! grep -q conv2d_winograd strict.json || fail "Winograd in a library of sums alone"
head -c 200 cpu.model >cut.model
expect 2 query m.onnx#2 --records i.db --model cut.model
has 'truncated or damaged' err
expect 2 train --records learned.db --kind cuda -o none.model

expect 0 compile m.onnx --records i.db --rule autotvm -o imported.so
has '0 operators with configs of imported records' err
readelf -d imported.so | grep -qF 'soname: [imported.so]' || fail 'its SONAME is another file'
[ ! -e imported.so.unverified ] || fail 'a folder is left behind'
expect 2 compile missing.onnx -o new_folder/m.so
[ ! -e new_folder ] || fail 'a folder is left behind'
expect 1 compile m.onnx --records i.db --rule autotvm --on-miss fail -o imported.so
expect 2 compile m.onnx -o ''
has '--output: empty' err
expect 2 compile m.onnx -o m.so --name tilewright
has 'and not tilewright' err
expect 0 compile m.onnx --records r.db -o m.so
has 'no record of their own for ' err
[ -f m.h ] || fail "no header beside the library"
expect 1 compile m.onnx --records r.db --on-miss fail -o strict.so
expect 0 verify m.onnx m.so
has 'agree with the reference' out
expect 0 run m.so --json
has '"made_up_constants":null' out
expect 0 --version
has 'tilewright ' out
expect 2 inspect m.so
has 'm.so: expected an ONNX file or Relay text; this is a library that `tilewright compile` made' err
expect 2 run m.onnx
has 'm.onnx: expected a library that `tilewright compile` made; this is an ONNX model' err
has 'Compile it: tilewright compile m.onnx -o m.so' err
expect 2 compile m.onnx --records r.db --name m -o made/for/it/m.so
has 'there is no folder made/for/it; make it first (mkdir -p made/for/it)' err
[ ! -e made ] || fail "a folder was made"
mkdir -p made/for/it
expect 0 compile m.onnx --records r.db --name m -o made/for/it/m.so
cmp m.h made/for/it/m.h
expect 2 compile m.onnx -o r.db/m.so
has 'there is no folder r.db' err
expect 2 tnue
has "did you mean 'tune'?" err
expect 2 tune --reocrds x
has "did you mean '--records'?" err
expect 2 model resnt18_v1 -o x.onnx
has "did you mean 'resnet18_v1'?" err
expect 2 tune m.onnx --threads 1000 --trials 1 --records r.db
has 'but this process may use' err
for command in 'inspect /dev/zero' 'records import /dev/zero --records r.db' 'pack m.onnx --vta-config /dev/zero -o p.relay'; do
  # shellcheck disable=SC2086
  expect 2 $command
  has 'is a device, expected a file' err
done
(ulimit -s 64; "$tilewright" targets) >out || fail "a small stack"
expect 0 records backup r.db copy.db
expect 0 records check copy.db

# An array in another layout, and a file that is not a tensor.
header="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 224, 224, 3), }"
{ printf '\223NUMPY\001\000\166\000%-117s\n' "$header" && head -c 602112 /dev/zero; } >nhwc.npy
expect 2 run m.so --input nhwc.npy
has 'float32[1,224,224,3], expected float32[1,3,224,224]' err
expect 2 run m.so --input m.h
has 'raw elements, expected 602112' err
expect 2 quantize m.onnx -o q.relay --data nhwc.npy
has 'expected --calibrate auto' err

expect 0 run m.so --output logits.npy
expect 0 run m.so --input "$images/colour.jpg" --image-fit stretch --output image.npy
if cmp -s logits.npy image.npy; then fail "the run did not use the image"; fi
expect 2 run m.so --input "$images/colour.jpg"
has "colour.jpg: image of 16 x 8 pixels" err
[ -s logits.npy ] || fail "no output file"
expect 0 bench m.so --seconds 0.2 --json
has '"total_seconds"' out
expect 2 bench m.so --threads 2
has 'was compiled for one thread' err

expect 0 inspect "$corpus/qdq.onnx" --json
has 'sigmoid has no integer form' err
has '"notes"' out
expect 0 compile "$corpus/qdq.onnx" --requantize integer -o qdq.so
expect 0 verify "$corpus/qdq.onnx" qdq.so --requantize integer
# Open dimensions and values of a file: all commands use the same options, and their outputs store
# the values.
open="$corpus/open.onnx"
expect 2 inspect "$open"
has "graph input 'x': dimension 1 ('width'), dimension 2: no fixed size" err
has '--shape x=1xSIZExSIZE' err
sizes=(--shape x=1x4x6 --value shape=4,6)
expect 2 inspect "$open" --shape x=1x4x6
has '--value shape=NUMBER' err
expect 2 inspect "$open" --shape x=1x4x6 --value shap=4,6
has "did you mean 'shape'?" err
expect 2 compile "$open" "${sizes[@]}" --dim width=5 -o open.so
has 'but 5 by --dim width=5' err
[ ! -e open.so ] && [ ! -e open.h ] || fail "a library of sizes that contradict each other"
expect 0 inspect "$open" "${sizes[@]}" --json
has '"--value shape=4,6"' out
expect 0 compile "$open" "${sizes[@]}" --json -o open.so
has '"bound":["--shape x=1x4x6","--value shape=4,6"]' out
has ' * Read with --shape x=1x4x6' open.h
expect 0 verify "$open" open.so "${sizes[@]}"
expect 0 compile "$open" "${sizes[@]}" --format bundle -o open
has '"--shape x=1x4x6"' open/graph.json
expect 0 tasks "$open" "${sizes[@]}"
expect 0 query "$open" "${sizes[@]}" --accept default
expect 0 space "$open#0" "${sizes[@]}"
expect 2 space 'dense(float32[1,8]MK,float32[8,8]NK)->float32' --dim n=3
has '--dim n=3: the task is not a model file' err
expect 2 run open.so --shape x=1x4x5
has '--shape x=1x4x5: open.so has its sizes in it: x=1x4x6' err
expect 2 run open.so --dim width=4
has '--dim width=4: open.so has its sizes in it' err
# Several shape variants in one library.
sets=(--shape x=1x4x6,1x3x8 --value shape=4,6)
expect 0 compile "$open" "${sets[@]}" --json -o sets.so
has '"sets":[{"name":"open_1","bound":["--shape x=1x4x6"' out
has 'open_set(const int64_t' sets.h
expect 0 run sets.so
has 'the first of 2 shape variants' err
expect 2 run sets.so --prefer seconds
has 'a library contains its configs' err
expect 0 run sets.so --shape x=1x3x8
expect 0 verify "$open" sets.so --shape x=1x3x8 --value shape=4,6
expect 0 bench sets.so --shape x=1x3x8 --seconds 0.1
expect 2 run sets.so --shape x=1x3x9
has 'x=1x4x6; x=1x3x8' err
expect 2 compile "$open" "${sets[@]}" --format bundle -o sets
expect 2 compile "$open" --shape x=1x4x6,1x4x6 --value shape=4,6 -o same.so
has 'two shape variants have the same shapes' err
expect 2 compile "$open" "${sets[@]}" --prefer 'seconds,code_bytes<=1MB' -o sets.so
has 'a limit is shared among the tasks of one network' err
expect 2 inspect "$open" "${sets[@]}"
has '2 shape variants' err
cat >open.json <<END
{"graph": "$open", "records": "open.db", "trials": 2, "shape": "x=1x4x6", "value": ["shape=4,6"]}
END
expect 0 tune --job open.json --json
expect 0 tune "$open" "${sets[@]}" --records open.db --trials 2 --json
expect 2 tune --job open.json --shape x=1x5
has 'the file declares' err
expect 0 compile "$corpus/qdq.onnx" --format bundle -o qdq
expect 0 verify "$corpus/qdq.onnx" qdq
expect 0 verify "$corpus/qdq_float.onnx" "$corpus/qdq.onnx" --made-up random
has 'layers of qdq agree with qdq_float' out
expect 0 verify "$corpus/qdq_float.onnx" qdq.so --made-up random --json
has '"scale_from":"source"' out
expect 1 verify "$corpus/qdq_float.onnx" "$corpus/qdq.onnx" --min-sqnr 200 --json
has '"first_divergence":0' out
expect 2 verify m.onnx "$corpus/qdq.onnx"
has 'shapes differ' err

# A name that is not UTF-8 must not end the program when it prints JSON.
LC_ALL=C sed 's/projected/proj\xff\xfeted/g' "$corpus/transformer.onnx" >odd.onnx
expect 0 compile odd.onnx -o odd.so --json
expect 0 run odd.so --json
expect 0 verify odd.onnx odd.onnx --json

# No text of a store or a model prints terminal control sequences.
printed=$(grep -rnE 'fmt::print|printf\(|std::(cout|cerr|puts)|fputs' --include='*.cc' "$source_folder/python_free_cli" |
  grep -vE '/(print|runner_main).cc:' || true)
[ -z "$printed" ] || fail "text that is not filtered: $printed"
expect 0 records backup r.db forged.db
LC_ALL=C sed -i 's/conv2d_direct\.cpu/conv2d\x1b[2Jxxx.cpu/g' forged.db
LC_ALL=C sed 's/projected/proj\x1b[2Jd/g' "$corpus/transformer.onnx" >control.onnx
for command in 'records list forged.db' 'records list forged.db --json' 'records stats forged.db' \
  'records export-csv forged.db -o /dev/null' 'inspect control.onnx' 'tasks control.onnx' \
  'compile control.onnx -o control.so' 'verify control.onnx control.so' 'run control.so --json'; do
  # shellcheck disable=SC2086
  expect 0 $command
  if LC_ALL=C grep -q $'\x1b' out err; then fail "'$command' lets control characters through"; fi
  [ "$command" != 'records list forged.db' ] || has 'conv2d\x1b[2Jx' out
done
# ... and no name starts a new line.
LC_ALL=C sed 's/projected/proj\nEVIL/g' "$corpus/transformer.onnx" >lines.onnx
for command in 'inspect lines.onnx' 'compile lines.onnx -o lines.so' 'verify lines.onnx lines.so' 'run lines.so'; do
  # shellcheck disable=SC2086
  expect 0 $command
  if grep -q '^EVIL' out err; then fail "'$command' lets a name begin a line"; fi
done
if grep -q '^EVIL' lines.h; then fail 'a name begins a line of the header'; fi

expect 0 model squeezenet1_1 --int8 -o q.onnx
expect 0 pack q.onnx $design -o q.relay --json
has '"left":[{"value":"conv1","why":"3 channels' out
expect 0 tasks q.relay --target vta --vta-config sim
expect 2 tasks q.relay --target vta --vta-config simm
has 'no design of this name' err
expect 0 tasks q.relay $vta --json
has 'cast(int8)' out
expect 0 tune q.relay#1 $vta --records v.db --trials 4 --json
expect 0 run q.relay $vta --records v.db --json --vta-trace trace.json
has '"tuned":true' out
has '"gemm_counter":' out
has '"on":"vta"' out
has '"traceEvents"' trace.json
expect 1 compile q.relay $vta --records v.db --on-miss fail -o q.vta
[ ! -e q.vta ] || fail "a folder in spite of untuned operators"
expect 0 compile q.relay $vta --records v.db -o q.vta
has 'no record of their own for ' err
expect 0 verify q.onnx q.vta
has 'agree with the reference' out
expect 2 run m.so --records v.db
has 'needs --target vta' err
expect 2 run q.relay --target vta
has '--vta-config' err
expect 2 run q.relay --target llvm
expect 2 verify q.relay m.so $vta
expect 1 pack m.onnx $design -o float.relay
has 'expected int8' out
has 'float.relay is not written' err
echo '{}' >design.json
expect 2 run q.relay --target vta --vta-config design.json
has 'design.json' err

# Boards, and code for other machines.
expect 0 targets --json
has '"name":"rasp4b64"' out
expect 0 lower m.onnx#1 --target rasp4b64 --emit asm
has 'fmla' out
expect 0 lower m.onnx#1 --target "llvm -device=arm_cpu -model=pynq" --emit asm
has 'vmla.f32' out
expect 2 compile m.onnx --target "llvm -mtriple=armv7a-linux-eabi" -o arm.so
has 'gnueabihf' err
expect 2 compile m.onnx --target pixel2 -o arm.so
has '--runtime' err
expect 2 lower m.onnx#1 --target rasp99
has "target kind 'rasp99'" err
has 'rasp4b64' err
expect 2 compile m.onnx --target 'llvm -device=arm_cpu -model=rasp99' -o arm.so
has 'no board of this model' err
expect 2 compile m.onnx --target 'llvm -mattr=+avx9' -o arm.so
has '-mattr=+avx9' err
if "$tilewright" compile net.relay --target rasp4b64 -o arm.so >out 2>err; then
  expect 2 run arm.so
  has 'code for 64-bit Arm' err
else
  has '--runtime' err  # built without a compiler for Arm
fi
expect 2 tune m.onnx#1 --target rasp4b64 --records b.db --trials 1
has '--runner' err

# The runner, used like a remote machine.
runner="'$tilewright' runner"
expect 0 tune m.onnx#1 --runner "$runner" --records b.db --trials 2 --json
has '"trials":2' out
expect 0 measure --task m.onnx#1 --runner "$runner"
expect 2 tune m.onnx#1 --runner '' --records b.db --trials 2
expect 2 tune m.onnx#1 --runner "$runner" --records b.db --trials 2 --metric seconds,joules
has 'energy is counted on this machine only, not by boards or fleets' err
if ! cat /sys/class/powercap/intel-rapl:*/energy_uj >/dev/null 2>&1; then
  expect 2 tune m.onnx#1 --records b.db --trials 2 --metric seconds,joules
  has '--metric: joules: ' err
fi
expect 1 tune m.onnx#1 --runner 'exit 3' --records b.db --trials 2
has 'exit code 3' err

# A failure to print progress never ends a job: standard error on a full disk, closed, or with a
# closed reader.
lossy="tune m.onnx#1 --records lossy.db"
"$tilewright" $lossy --trials 2 --json >out 2>/dev/full || fail "tune died with its standard error full"
"$tilewright" $lossy --trials 4 --json >out 2>&- || fail "tune died without standard error"
"$tilewright" $lossy --trials 6 --json 2>&1 >out | true || fail "tune died with the reader of its standard error"
# ... nor does a failure to print the report. That is an error, but the trials are kept.
if "$tilewright" $lossy --trials 8 --json >/dev/full 2>err; then fail "no word of a report that was lost"; fi
has 'standard output' err
if "$tilewright" $lossy --trials 10 >&- 2>err; then fail "no word of a report without standard output"; fi
expect 0 $lossy --trials 10 --json
has '"trials":10' out
has '"trials_this_run":0' out
if "$tilewright" inspect missing.onnx 2>/dev/full; then fail "an error that could not be said is none"; fi

# If a signal stops it, it keeps everything, and later commands of a script do not run.
for signal in INT TERM; do
  seen=0
  timeout --preserve-status -s "$signal" 2 "$tilewright" tune m.onnx#2 --records "$signal.db" --budget 60s >out 2>err || seen=$?
  [ "$seen" -eq $((128 + $(kill -l "$signal"))) ] || fail "tune after SIG$signal: exit code $seen: $(cat err)"
done

# Options that have no effect in combination with the others.
refused() {
  expect 2 "$@"
  has "$why" err
}
why='a VTA' refused compile q.relay $vta --runtime /nonexistent -o x.vta
why='--build-threads: ' refused compile q.relay $vta --build-threads 3 -o x.vta
why='--device: ' refused compile q.relay $vta --device 0 -o x.vta
why='--threads: 3' refused compile q.relay $vta --threads 3 -o x.vta
why='--libs: dnnl is for targets of kind llvm' refused space m.onnx#1 --target 'cuda -arch=sm_80' --libs dnnl
why='--threads: ' refused run net.relay --target 'cuda -arch=sm_75' --device simt --threads 2
why='--min-sqnr: ' refused verify q.relay $vta --min-sqnr 20
why='--min-sqnr: ' refused verify net.relay --target 'cuda -arch=sm_75' --device simt --min-sqnr 20
why='--tolerance: ' refused verify "$corpus/qdq_float.onnx" "$corpus/qdq.onnx" --tolerance 0.1
why='--device: ' refused verify m.onnx m.onnx --device 0
why='contains its design' refused run q.vta --vta-config pynq
why='has its operators fused' refused run q.vta --no-fuse-residuals
why='--accept: needs' refused run m.so --accept hit
why='--output: 2 given' refused run m.so --output a.npy b.npy
why='--vta-trace' refused run q.vta --vta-cycles rtl
why='--input' refused run m.so --image-fit crop
why='--no-fuse-residuals: ' refused tune m.onnx#1 --records r.db --trials 1 --no-fuse-residuals
why='--no-fuse-residuals: ' refused tasks m.onnx --no-fuse-residuals
why='--package: expected' refused query m.onnx#1 --allow-unsigned
why='--package: rule autotvm' refused query "$dense" --rule autotvm --target llvm --package "$package"
why='--libs: --rule autotvm' refused query "$dense" --rule autotvm --target llvm --libs dnnl
why='none of the passes' refused quantize m.onnx --passes fold,partition --data "$images" -o x.relay \
  --set calibrate_mode=percentile
why='--data' refused quantize m.onnx --samples 3 -o x.relay
why='no package files' refused package verify --installed "$package"
why='trials: -1, expected' refused tune m.onnx#1 --records r.db --trials -1
why='--top: ' refused records best r.db --top 0
why='--limit: ' refused records list r.db --limit -1
why='--tolerance: ' refused verify m.onnx m.onnx --tolerance -1
[ ! -e x.vta ] || fail "a folder in spite of what was refused"

# --requantize and --seeded apply to a VTA too, and --min-sqnr to a library of the model itself.
expect 0 compile "$corpus/qdq.onnx" $vta --requantize integer -o qdq.vta
expect 0 verify "$corpus/qdq.onnx" qdq.vta --requantize integer
expect 0 compile q.relay $vta --seeded -o seeded.vta
expect 0 verify q.relay seeded.vta --seeded
expect 0 verify "$corpus/qdq.onnx" qdq --min-sqnr 60 --json
has '"layers"' out

# A CSV replaces the file only when it is complete.
echo kept >r.csv
expect 2 records export-csv nowhere.db -o r.csv
has kept r.csv
expect 2 records export --records nowhere.db -o r.csv
has kept r.csv
ln -s r.csv r.link
expect 0 records export-csv r.db -o r.link
[ -L r.link ] || fail 'a link was replaced'
[ "$(wc -l <r.csv)" -gt 1 ] || fail 'a link was not followed'
mkfifo r.pipe
cat r.pipe >piped.csv &
expect 0 records export-csv r.db -o r.pipe
wait $!
cmp -s r.csv piped.csv || fail 'a pipe was not written to'

# The command printed with a trial measures it again.
expect 0 records list r.db --limit 1 --json
again=$(sed 's/.*"reproduce":"tilewright \(.*\)"}$/\1/; s/\\"/"/g' out)
eval "expect 0 $again"

# Output either arrives completely or gives an error.
if [ -c /dev/full ]; then
  while read -r command; do
    seen=0
    # shellcheck disable=SC2086
    "$tilewright" $command </dev/null >/dev/full 2>err || seen=$?
    [ "$seen" -eq 1 ] || fail "'$command >/dev/full' gave exit code $seen"
    has 'standard output: ' err
  done <<'END'
version
--help
run m.so
run m.so --json
verify m.onnx m.so --json
quantize net.relay --passes partition --print-after partition
END
fi
"$tilewright" run m.so --json 2>err | head -c 1 >out
[ ! -s err ] || fail "a reader that went away: $(cat err)"

# If a file cannot grow, no partial file remains, and no existing file is lost.
# full ARGUMENT...: the program ends with 1 and leaves the existing files unchanged.
full() {
  local seen=0
  find . | sort >before
  (ulimit -f 40 && exec "$tilewright" "$@" >/dev/null 2>err) || seen=$?
  [ "$seen" -eq 1 ] || fail "'$*' with a limit on files gave exit code $seen: $(cat err)"
  find . | sort | diff before - >out || fail "'$*' left something behind: $(cat out)"
}
touch before err out
cp m.so kept.so
full compile m.onnx -o m.so
full compile m.onnx --format bundle -o full
full compile q.relay $vta -o full.vta
full quantize m.onnx -o full.relay
full model squeezenet1_1 -o full.onnx
cmp m.so kept.so

# The same after a signal. A pipe without a writer blocks the linker when the constants are written.
mkfifo runtime.a
# interrupted FILE ARGUMENT...: interrupts compile when FILE (a pattern) exists; its outputs are
# deleted.
interrupted() {
  local pattern=$1 seen=0 tries=0 pid
  shift
  "$tilewright" compile net.relay --runtime runtime.a "$@" 2>err &
  pid=$!
  until compgen -G "$pattern" >/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] && kill -0 "$pid" || fail "no $pattern of 'compile $*': $(cat err)"
    sleep 0.1
  done
  kill -TERM "$pid"
  wait "$pid" || seen=$?
  [ "$seen" -eq 143 ] || fail "'compile $*' after SIGTERM gave exit code $seen"
  if compgen -G "ended*" >out; then fail "'compile $*' left behind: $(cat out)"; fi
}
interrupted "ended.so.partial.*/*.constants.o" -o ended.so
interrupted "ended.partial.*/*.partial.*/*.params.partial.*" --format bundle -o ended

expect 2 nothing
expect 2 inspect missing.onnx
has 'no such file' err
expect 2 tune m.onnx --records r.db
has 'no limit given' err
expect 2 space m.onnx#1 --target 'llvm -mcpu=nothing'
expect 2 lower m.onnx#99
head -c 1000 m.onnx >cut.onnx
expect 2 inspect cut.onnx
echo "program_test: all as expected"
