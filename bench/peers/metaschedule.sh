#!/usr/bin/env bash
# metaschedule.sh TILEWRIGHT PYTHON [TRIALS [MCPU]]: spaces from rules and MetaSchedule's on one
# convolution (64 channels to 64, 3x3, 56x56, float32, one thread), one after the other.
# PYTHON: of an environment with what metaschedule/conv2d.py names.
set -euo pipefail

tilewright=$1 python=$2 trials=${3:-128} mcpu=${4:-znver4}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME="$work/data" XDG_CONFIG_HOME="$work/config"

cat >"$work/conv.tw" <<'TEXT'
input X: float32[1, 64, 56, 56]
const W: float32[64, 64, 3, 3]
P[n: 1, c: 64, y: 58, x: 58] =
    select(y >= 1 and y < 57 and x >= 1 and x < 57, X[n, c, y - 1, x - 1], 0.0)
C[n: 1, k: 64, y: 56, x: 56] = sum(c: 64, r: 3, s: 3) P[n, c, y + r, x + s] * W[k, c, r, s]
TEXT
echo "tilewright, default config of auto.cpu/tiles:"
"$tilewright" measure --task "$work/conv.tw"
echo "tilewright, $trials trials of the spaces from rules:"
"$tilewright" tune "$work/conv.tw" --trials "$trials" --records "$work/r.db" 2>/dev/null
echo "tilewright, conv2d_direct.cpu (written by hand), default config:"
"$tilewright" measure --template conv2d_direct.cpu --task \
  'conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32'
"$python" "$here/metaschedule/conv2d.py" "$trials" "$mcpu" 2>/dev/null | tail -n 1
