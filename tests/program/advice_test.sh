#!/bin/bash
# End-to-end test of the program's advice: printed commands work, and notes say what was done.
set -eu
tilewright=$1
examples=$2  # docs/examples/network
source "$(dirname "$0")/expect.sh"

# printed FILE: runs the last printed command of the file, with two trials in place of a budget.
printed() {
  local command
  command=$(grep -E '^  tilewright ' "$1" | tail -1)
  [ -n "$command" ] || fail "no command in: $(head -c 800 "$1")"
  command=${command/--budget 10m/--trials 2}
  bash -c "\"$tilewright\" ${command#  tilewright }" >out 2>err || fail "$command: $(head -c 800 err)"
}

cat >tuned.log <<'LOG'
{"input": ["llvm -mcpu=skylake-avx512", "conv2d_NCHWc.x86", [["TENSOR", [1, 64, 56, 56], "float32"], ["TENSOR", [64, 64, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", "float32"], {}], "config": {"index": 188, "code_hash": null, "entity": [["tile_ic", "sp", [1, 64]], ["tile_oc", "sp", [2, 32]], ["tile_ow", "sp", [8, 7]], ["unroll_kw", "ot", true]]}, "result": [[0.00010744781060336864], 0, 1.8370168209075928, 1539973676.429802], "version": 0.2, "tvm_version": "0.7.dev0"}
LOG
conv='conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32'

# Imports: a failed one leaves no store, and a file of another kind is named before any line.
expect 0 model squeezenet1_1 -o net.onnx
expect 2 records import missing.log --records none.db
expect 2 records import . --records none.db
has '.: is a folder, expected files' err
expect 2 records import tuned.log net.onnx --records none.db
has 'net.onnx: not an AutoTVM log; this is an ONNX model' err
[ ! -e none.db ] || fail "a failed import leaves a store"
expect 0 records import tuned.log --records i.db

# Queries by AutoTVM's rule: boards, the processor of the record, and what helps.
expect 1 query "$conv" --target rasp4b64 --records i.db
has "--rule autotvm" err
expect 1 query "$conv" --target rasp4b64 --rule autotvm --records i.db
says "--target rasp4b64 --records i.db --runner 'ssh BOARD tilewright-runner'" err
expect 2 query "$conv" --target rasp4b65 --rule autotvm --records i.db
says "did you mean 'rasp4b64'" err
expect 0 query "$conv" --rule autotvm --target 'llvm -mcpu=x86-64-v3' --records i.db
has 'hit (skylake-avx512)' out
expect 0 query "$conv" --rule autotvm --target 'llvm -mcpu=skylake-avx512' --records i.db
! grep -qF 'hit (' out || fail "the record is for the processor that was asked for"
dense='dense(float32[1,64]MK,float32[32,64]NK)->float32'
expect 1 query "$dense" --rule autotvm --records i.db
says 'own records are used without --rule autotvm; to tune it: tilewright tune' err
printed err
expect 1 query "$dense" --rule autotvm --target 'llvm -device=arm_cpu -model=rk3399' --records i.db
has "--runner 'ssh BOARD tilewright-runner'" err
if ! "$tilewright" doctor 2>/dev/null | grep -q 'sm_'; then  # no GPU here
  expect 1 query "$dense" --rule autotvm --target 'cuda -model=1080ti' --records i.db
  ! grep -qF 'tilewright tune' err || fail "no GPU runs the printed command: $(cat err)"
fi
expect 1 query "$dense" --rule autotvm --tophub cuda --target cuda
says '--tophub cuda: the package is not imported; to import it: tilewright records import cuda_v*.log' err

# Libraries with imported configs: where they come from, and both times.
cat >conv64.relay <<'RELAY'
def @main(%data: Tensor[(1, 64, 56, 56), float32]) -> Tensor[(1, 64, 56, 56), float32] {
  nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(64, 64, 3, 3), float32] */, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3]) /* ty=Tensor[(1, 64, 56, 56), float32] */
}
RELAY
imported() {
  expect 0 compile conv64.relay --rule autotvm --records i.db --target 'llvm -mcpu=x86-64-v3' "$@" -o imported.so
  says '1 tuned for llvm -mcpu=skylake-avx512; the processor here is another one: x86-64-v3 and not' err
}
imported --json
matches '(a run takes|a run on this machine takes) .* with default configs' err
has '"default_seconds"' out
imported --verify none
! grep -qF 'with default configs' err || fail "--verify none runs no comparison"

# An open dimension: a note names it, and every command takes a range.
cp "$examples/mlp.onnx" .
expect 0 inspect mlp.onnx
says "dimension 'batch' is open and read as 1, which --dim batch=SIZE changes" err
expect 0 inspect mlp.onnx --dim batch=2
! grep -qF 'is open' err || fail "the dimension has a size"
expect 0 inspect mlp.onnx --check --dim batch=1..64
matches '^open +--dim batch=1..64$' out
! grep -qF 'batch=1' <(grep '^bound' out) || fail "the dimension is open"
has 'with --dim batch=1..64' err
expect 2 inspect mlp.onnx --check --target 'cuda -arch=sm_80' --dim batch=1..64
# A dimension that attention joins: MatMul of x with q, k and v; Softmax(Q x K') x V.
base64 -d <<<'H4sIAAAAAAACA3WPTYrCQBBG++uJ2haIoVQYdDcIQo7gxsalIigJLmbXAxkYHH9iVOLOo3geL6UdNSqKBUUV7/FBlVIs2gdJFUJCiBijuvjKD8xqsP6/wgmj/wI3jPEDbBL6jMCSYrA0s3gxj0OvTM4iXE610FJjj0IaHREChv8QbRF8xtCSgj//XU1N4lXJMclf/HnMyqbPJw4JY8b2nmYYr6Gkki66iHquELvOpYVO511OMpmKZ7nJpL7J77r9k2tUUeAySQXK8UccRnaVP9Zt37iuQ8ItnQDkkfrxVwEAAA==' | gunzip >attention.onnx
expect 0 inspect attention.onnx --check --dim seq=1..64
has 'with --dim seq=1..64' err
# Steps of a recurrence: LSTM of x, whose last state is an output, too.
base64 -d <<<'H4sIAAAAAAACA+PgEGKwWsnCpcnFWMHFWM7FWCTEWCnEmKHE4hMc4qslxMWdkZmSkpoXX5xZlSrBsoCRSYgxR6uPkYORQ4CDSYDRibHcq4GRgeHAPgaGBiBmAGEQsAPygfiAHT3ktPqYwA5iATmoyKuBaaAdNNByUTLA+BQS5xLlYBQS5GIXYi0uSS0o5gKGEhAzJSlwASNZmksSKCuKLgvCLEniXIwZQkJcAkAVPMgSTixcDAJ8AM7ZkVI2AgAA' | gunzip >lstm.onnx
expect 0 inspect lstm.onnx --check --dim steps=1..30
has 'with --dim steps=1..30' err
expect 0 compile lstm.onnx --dim steps=1..30 -o lstm.so
for steps in 1 2 4 5 30; do
  expect 0 verify lstm.onnx lstm.so --dim steps=$steps
done
expect 0 run lstm.so --dim steps=7
has '[7,1,1,4]' out
expect 2 run lstm.so --dim steps=31
# Without sizes: what is open, and the range that one library could take.
expect 0 inspect attention.onnx
has 'open  seq: inputs ' out
expect 0 inspect attention.onnx --json
has '"open": [' out
has '"dimension": 1' out
expect 2 inspect attention.onnx --check
has 'no fixed size' err
has 'for one library of all sizes, --dim seq=1..512' err
expect 2 compile attention.onnx -o attention.so
has 'for one library of all sizes, --dim seq=1..512' err
[ ! -e attention.so ] || fail "a library without sizes"
expect 0 inspect mlp.onnx --check --json
has '"most": 512' out
expect 2 inspect attention.onnx --check --dim seq=1..2
has "node 3 (Transpose) making 'T' has it in dimension 2" err
# The width of an image: Conv, Relu, MaxPool 2x2, Conv of [1,1,4,width].
base64 -d <<<'H4sIAAAAAAACA+1SwUrDQBCd2axmGXpIFoIUPUiO+wXiIYZ6Kwji0YtskoUWYxKyrW1v+QP7Cf2S2k/rxgYvnsWLM7w5vPeGeYcR4vbjnGLCNaGWmMf8vq7eVUi80YVN8dQ79GlEmEtsY/5kyiXdELYSm9h/0OvHui5VRKNX01amfLEz3ZiUpcxtqYB8u2jnhbED099qCDOJmx+3oIfzSD+vy+VbZdUOBRcoPOEFOEE93SIAfAJ0e/iqLnHj7i85tfVcRO4isj5iNu08gMN+sA52SE4rh+Rf+33t+dq9s7yksUAZERM4gJMvz1bzYjHLrgg38oIi5wi/VSYYeRJXE04QhEf3p2gpGgMAAA==' | gunzip >columns.onnx
expect 0 inspect columns.onnx --check --dim width=4..100
matches '^open +--dim width=4..100$' out
expect 0 compile columns.onnx --dim width=4..100 -o columns.so
expect 0 run columns.so --dim width=37
has 'y float32[1,4,2,17]' out
expect 0 verify columns.onnx columns.so --dim width=37
expect 2 run columns.so --dim width=101
has 'expected a size from 4 to 100' err
expect 0 tasks columns.onnx --dim width=4..100 --json
has 'conv2d(float32[1,1,4,130]' out
expect 0 tune columns.onnx --dim width=4..100 --records columns.db --trials 6
expect 0 compile columns.onnx --dim width=4..100 --records columns.db -o columns.so
has ' 0 untuned' out
expect 0 query columns.onnx --dim width=4..100 --records columns.db
expect 2 compile columns.onnx --dim width=1..100 -o columns.so
has 'larger than the padded image' err
expect 0 tasks mlp.onnx --dim batch=1..64 --json
has 'dense(float32[8,' out
has 'dense(float32[64,' out
expect 2 run mlp.onnx --dim batch=1..64
# Observed sizes choose what is tuned; a bad file is named with its line.
printf 'size,count\n3,10\n' >sizes.csv
expect 0 tasks mlp.onnx --dim batch=1..64 --sizes sizes.csv --json
has 'dense(float32[3,' out
! grep -qF 'dense(float32[64,' out || fail "no run has 64 entries"
expect 2 tasks mlp.onnx --sizes sizes.csv
has 'sizes.csv: expected a range with it: --dim NAME=1..SIZE' err
printf '1,2\n70,1\n' >sizes.csv
expect 2 compile mlp.onnx --dim batch=1..64 --sizes sizes.csv -o mlp.so
has 'sizes.csv: size 70, expected sizes of --dim batch=1..64' err
printf '1,2\n3;4\n' >sizes.csv
expect 2 tune mlp.onnx --dim batch=1..64 --sizes sizes.csv --records r.db --trials 12
has "sizes.csv:2: '3;4', expected SIZE,COUNT" err
expect 2 query mlp.onnx --dim batch=1..64 --sizes none.csv --records r.db
expect 0 tune mlp.onnx --dim batch=1..64 --records r.db --trials 48
has 'compile mlp.onnx -o mlp.so --dim batch=1..64 --records r.db' err
printed_compile=$(grep -F 'tilewright compile' err)
bash -c "\"$tilewright\" ${printed_compile#  tilewright }" >out 2>err || fail "$printed_compile: $(cat err)"
has ' 0 untuned' out
has 'by the record of' out
expect 0 bench mlp.so --dim batch=1..64 --seconds 0.2
has ' sizes, 1 thread' out
expect 0 bench mlp.so --dim batch=2..5 --seconds 0.1 --json
has '"dimension":"batch"' out
has '"size":5' out
expect 2 bench mlp.so --dim batch=1..65 --seconds 0.1
expect 2 bench mlp.so --dim seq=1..4 --seconds 0.1
expect 0 query mlp.onnx --dim batch=1..64 --records r.db
! grep -qF 'tilewright tune' err || fail "all tasks are hits: $(cat err)"
# One task without a record is named by its number; the printed command makes it a hit.
expect 0 tune mlp.onnx#0 --dim batch=1..64 --records one.db --trials 3
expect 0 compile mlp.onnx --dim batch=1..64 --records one.db -o mlp.so
says 'to tune them: tilewright tune mlp.onnx#1 --dim batch=1..64 --records one.db' err
printed err
expect 0 compile mlp.onnx --dim batch=1..64 --records one.db -o mlp.so
has ' 0 untuned' out

# Limits and tasks.
expect 2 tune mlp.onnx
says 'no limit given (--trials, --budget or --deadline), for example: tilewright tune mlp.onnx --budget 10m' err
expect 2 tune nofile.onnx
has 'nofile.onnx' err
! grep -qF 'no limit' err || fail "the file is checked first"
expect 2 tune mlp.onnx --threads 4096 --trials 1
expect 0 measure "$dense" --config 0
