#!/usr/bin/env bash
# rules.sh TILEWRIGHT [TRIALS [TASK...]]: spaces from auto rules against handwritten templates, on
# twelve tasks of resnet18, mobilenet_v2 and an encoder: the best of a search of TRIALS (64) trials
# in each, on one thread, with the same strategy. No Winograd on either side (--float-error strict).
# Prints microseconds, and the speed of the auto rules relative to the templates, with the geometric
# mean. TASK: only these.
set -euo pipefail

tilewright=$(realpath "$1") trials=${2:-64}
chosen=" ${*:3} "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME="$work/data" XDG_CONFIG_HOME="$work/config"

# conv NAME C K SIZE KERNEL STRIDE PADDING
conv() {
  local name=$1 c=$2 k=$3 h=$4 r=$5 s=$6 p=$7
  local out=$(((h + 2 * p - r) / s + 1)) wide=$((h + 2 * p)) end=$((h + p))
  {
    echo "input X: float32[1, $c, $h, $h]"
    echo "const W: float32[$k, $c, $r, $r]"
    if [ "$p" -gt 0 ]; then
      echo "P[n: 1, c: $c, y: $wide, x: $wide] = select(y >= $p and y < $end and x >= $p and x < $end, X[n, c, y - $p, x - $p], 0.0)"
    fi
    local from=X
    if [ "$p" -gt 0 ]; then from=P; fi
    echo "C[n: 1, k: $k, y: $out, x: $out] = sum(c: $c, r: $r, s: $r) $from[n, c, $s * y + r, $s * x + s] * W[k, c, r, s]"
  } >"$name.tw"
  echo "$name conv2d(float32[1,$c,$h,$h]NCHW,float32[$k,$c,$r,$r]OIHW,s${s}x$s,p${p}x${p}x${p}x$p,d1x1,g1)->float32" >>tasks
}
depthwise() {
  local name=$1 c=$2 h=$3 s=$4
  local out=$(((h - 1) / s + 1)) wide=$((h + 2)) end=$((h + 1))
  cat >"$name.tw" <<TEXT
input X: float32[1, $c, $h, $h]
const W: float32[$c, 3, 3]
P[n: 1, c: $c, y: $wide, x: $wide] = select(y >= 1 and y < $end and x >= 1 and x < $end, X[n, c, y - 1, x - 1], 0.0)
C[n: 1, c: $c, y: $out, x: $out] = sum(r: 3, s: 3) P[n, c, $s * y + r, $s * x + s] * W[c, r, s]
TEXT
  echo "$name depthwise_conv2d(float32[1,$c,$h,$h]NCHW,float32[$c,1,3,3]OIHW,s${s}x$s,p1x1x1x1,d1x1,g$c)->float32" >>tasks
}
dense() {
  local name=$1 m=$2 n=$3 k=$4
  printf 'input A: float32[%s, %s]\nconst B: float32[%s, %s]\nC[i: %s, j: %s] = sum(k: %s) A[i, k] * B[j, k]\n' \
    "$m" "$k" "$n" "$k" "$m" "$n" "$k" >"$name.tw"
  echo "$name dense(float32[$m,$k]MK,float32[$n,$k]NK)->float32" >>tasks
}
conv resnet_3x3_56 64 64 56 3 1 1
conv resnet_3x3_28 128 128 28 3 1 1
conv resnet_3x3_14 256 256 14 3 1 1
conv resnet_3x3_s2 64 128 56 3 2 1
conv resnet_1x1_s2 64 128 56 1 2 0
dense resnet_dense 1 1000 512
conv mobilenet_1x1_56 144 24 56 1 1 0
conv mobilenet_1x1_14 384 64 14 1 1 0
depthwise mobilenet_depthwise_56 144 56 1
depthwise mobilenet_depthwise_14 576 14 1
dense encoder_dense 128 768 768
cat >encoder_scores.tw <<'TEXT'
input Q: float32[12, 128, 64]
input K: float32[12, 128, 64]
S[h: 12, i: 128, j: 128] = sum(d: 64) Q[h, i, d] * K[h, j, d]
TEXT
echo "encoder_scores batch_matmul(float32[12,128,64]BMK,float32[12,128,64]BNK)->float32" >>tasks

best() {  # microseconds of the best trial of a store
  "$tilewright" records list "$1" --json --outcome ok |
    grep -o '"value":[0-9.e-]*' | cut -d: -f2 | sort -g | head -n 1 | awk '{printf "%.1f", 1e6 * $1}'
}
printf '%-24s %12s %12s %8s\n' task templates rules ratio
while read -r name key; do
  if [ "$chosen" != "  " ] && [[ "$chosen" != *" $name "* ]]; then continue; fi
  "$tilewright" tune "$name.tw" --trials "$trials" --records "$name.rules.db" >/dev/null 2>&1
  "$tilewright" tune "$key" --trials "$trials" --float-error strict --records "$name.own.db" >/dev/null 2>&1
  rules=$(best "$name.rules.db") own=$(best "$name.own.db")
  awk -v n="$name" -v o="$own" -v r="$rules" \
    'BEGIN {printf "%-24s %12s %12s %8.3f\n", n, o, r, o / r}'
done <tasks | tee table
awk '{sum += log($4); n += 1} END {printf "geometric mean of %d: %.3f\n", n, exp(sum / n)}' table
