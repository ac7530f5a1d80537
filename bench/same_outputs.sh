#!/usr/bin/env bash
# same_outputs.sh OLD NEW [MODEL...]: compares the results of two programs `tilewright`, for a change
# that must not alter any. For six built-in networks (and each MODEL) on CPU, CUDA and VTA targets it
# compares `tasks --json`, `compile --json` without the members whose name ends in "seconds", and the
# compiled library byte for byte.
# Prints one line for each pair of model and target that differs, and a count.
# Environment: NETWORKS and TARGETS (one a line) limit the comparison.
# Both programs must find the same configs/: put them into the same folder.
# Exit code 1 if anything differs, 2 on bad usage.
set -uo pipefail

[ $# -ge 2 ] || { sed -n '2,/^set/{/^#/p}' "$0" >&2; exit 2; }
declare -A program=([old]=$(realpath "$1") [new]=$(realpath "$2"))
root=$(realpath "$(dirname "$0")/..")
shift 2
for side in old new; do
  [ -x "${program[$side]}" ] || { echo "same_outputs.sh: no program ${program[$side]}" >&2; exit 2; }
done
networks=${NETWORKS-resnet18_v1 resnet18_v1:--int8 mobilenet_v2 squeezenet1_1 bert_base_encoder:--int8 resnet50_v1}
default_targets="llvm -mcpu=skylake-avx512
llvm -mcpu=haswell
cuda -arch=sm_80
cuda -arch=sm_90
vta"
targets=${TARGETS-$default_targets}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/none
mkdir -p "$work"/{old,new}/same

models=()
for network in $networks; do
  name=${network%%:*} flags=()
  [ "$network" = "$name" ] || flags=("${network#*:}")
  file=$work/$name${flags[*]:-}.onnx
  "${program[old]}" model "$name" "${flags[@]}" -o "$file" >/dev/null || exit 2
  models+=("$file")
done
for model in "$@"; do models+=("$(realpath "$model")"); done

# run SIDE MODEL TARGET: leaves tasks.json, compile.json and the library in the side's folder. The
# output has the same name on both sides, because libraries contain it.
run() {
  local side=$1 model=$2 target=("--target" "$3") name=(--name same)
  if [ "$3" = vta ]; then
    target=(--vta-config "$root/configs/vta/sim.json") name=()
  fi
  (
    cd "$work/$side" && rm -rf same && mkdir same
    "${program[$side]}" tasks "$model" "${target[@]}" --json >tasks.json 2>"$work/log"
    echo "tasks $?" >codes
    "${program[$side]}" compile "$model" "${target[@]}" "${name[@]}" --verify none --json -o same/same.so \
      2>"$work/log" | sed -E 's/"[a-z_]*seconds": [-+.e0-9]+//g' >compile.json
    echo "compile ${PIPESTATUS[0]}" >>codes
  )
}

compared=0 different=0
while IFS= read -r target; do
  for model in "${models[@]}"; do
    run old "$model" "$target"
    run new "$model" "$target"
    compared=$((compared + 1))
    if ! diff -rq "$work/old" "$work/new" >"$work/diff"; then
      different=$((different + 1))
      echo "$(basename "$model") on $target: $(sed -E "s|$work/||g" "$work/diff" | tr '\n' ';')"
    fi
  done
done <<<"$targets"
echo "$compared compared, $different differ"
[ "$different" -eq 0 ]
