#!/usr/bin/env bash
# deploy_time.sh TILEWRIGHT: time from a float ResNet-50 (ONNX) to a quantized library, untuned:
# wall and processor seconds of each step, with the default calibration and with kl_divergence on 8
# images, for this machine's CPU and, packed, for a VTA. Exit code 1 if a step fails or a path takes
# over 20 s.
set -uo pipefail

tilewright=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
design=$root/configs/vta/sim.json
bar=20
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# step NAME COMMAND...: runs it, prints its seconds and adds them to the path's.
step() {
  local name=$1
  shift
  local TIMEFORMAT='%R %U %S'
  { time "$@" >"$work/out" 2>"$work/err"; } 2>"$work/time" || {
    cat "$work/err" >&2
    echo "failed: $*" >&2
    exit 1
  }
  read -r wall user system < <(tail -n 1 "$work/time")
  printf '  %-24s %6.2f s   %6.2f s of processor\n' "$name" "$wall" \
    "$(awk "BEGIN { print $user + $system }")"
  total=$(awk "BEGIN { print $total + $wall }")
}

# way NAME PACK FLAGS...: quantizes with FLAGS, packs if PACK is not empty, compiles.
slow=0
way() {
  local name=$1 pack=$2
  shift 2
  total=0
  echo "$name"
  step quantize "$tilewright" quantize model.onnx "$@" -o quantized.relay
  if [ -n "$pack" ]; then
    step pack "$tilewright" pack quantized.relay --vta-config "$design" -o packed.relay
    step "compile for the VTA" "$tilewright" compile packed.relay --target vta \
      --vta-config "$design" --no-packages -o packed.vta
  else
    step "compile for the CPU" "$tilewright" compile quantized.relay --no-packages -o quantized.so
  fi
  printf '  %-24s %6.2f s\n' "in all" "$total"
  awk "BEGIN { exit !($total > $bar) }" && slow=1
}

"$tilewright" model resnet50_v1 -o model.onnx || exit 1
# Images of 224 x 224 from the weights' bytes: the time of calibration does not depend on the
# contents.
for i in 1 2 3 4 5 6 7 8; do
  { printf 'P6\n224 224\n255\n'; tail -c $((i * 1000000)) model.onnx | head -c $((224 * 224 * 3)); } \
    >"image$i.ppm"
done
# A VTA can shift by a power of two between scales.
kl=(--set calibrate_mode=kl_divergence --set weight_scale=max --data image?.ppm)
way "global_scale, CPU" ""
way "global_scale, VTA" pack --set skip_conv_layers=None
way "kl_divergence of 8 images, CPU" "" "${kl[@]}"
[ $slow -eq 0 ] || { echo "more than $bar s"; exit 1; }
