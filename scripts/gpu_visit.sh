#!/usr/bin/env bash
# gpu_visit.sh [-o FOLDER] [--seconds N] [--device N] [--tasks FILE] [--task-seconds N] [--check-seconds N]
#              [--only STEP,...]
# Finds out what is to be known of an NVIDIA GPU, the most valuable first, in at most N seconds (480).
#
# It lies in the folder visit/ of the bundle that scripts/package.sh --only visit makes, beside the program, and needs
# neither a network nor packages. FOLDER (gpu_visit) gets a store (records.db), a log of each step (logs/),
# steps.tsv (name, exit code, seconds) and table.md, which is rewritten after each step. A step that is in
# steps.tsv is not done again: a visit that was stopped or killed resumes when it is started again. The exit
# code is 0 if every step was done and well, 1 if one was not, 2 if nothing could be done.
#   --tasks FILE       lines of a name, a tab and a workload key (visit/tasks.tsv)
#   --task-seconds N   how long each of them is tuned (15)
#   --check-seconds N  how long random kernels are checked (30)
#   --only STEP,...    only these steps, or groups of them: facts, check, torch_1, tune, torch_2, network,
#                      torch_networks, tophub, winners, sanitizer, energy, cpu, report
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
fail() { echo "gpu_visit: $*" >&2; exit 2; }
out=gpu_visit seconds=480 device=0 tasks="$here/tasks.tsv" task_seconds=15 check_seconds=30 only=""
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || fail "$1 needs a value"
  case $1 in
    -o) out=$2 ;;
    --seconds) seconds=$2 ;;
    --device) device=$2 ;;
    --tasks) tasks=$2 ;;
    --task-seconds) task_seconds=$2 ;;
    --check-seconds) check_seconds=$2 ;;
    --only) only=,$2, ;;
    *) fail "'$1': expected -o, --seconds, --device, --tasks, --task-seconds, --check-seconds or --only" ;;
  esac
  shift 2
done
[ -r "$tasks" ] || fail "$tasks cannot be read"
for program in tilewright gpu_visit simt_check expression_check; do
  [ -x "$root/bin/$program" ] || fail "$root/bin/$program is missing: this is not the folder visit/ of an unpacked bundle"
done
mkdir -p "$out/logs/checks" "$out/libraries" "$out/home" "$out/work" || fail "$out cannot be written"
out=$(cd "$out" && pwd)
started=$(date +%s)
left() { echo $((started + seconds - $(date +%s))); }

# Processes of an earlier, killed visit would hold the device.
if [ -s "$out/running" ]; then
  kill -KILL -- "-$(cat "$out/running")" 2>/dev/null || true
  rm -f "$out/running"
fi

# The vendor's libraries, wherever they are: the driver's own, and those of PyTorch's folder. Links to them
# alone are what is looked through, not all of the places.
places=(/usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/cuda/lib64
  /usr/local/cuda/extras/CUPTI/lib64)
python=$(command -v python3 || true)
if [ -n "$python" ]; then
  site='import glob, sysconfig; print(*glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib"), sep="\n")'
  while read -r place; do places+=("$place"); done < <("$python" -c "$site" 2>/dev/null || true)
fi
for place in "${places[@]}"; do
  for pattern in libcuda.so.1 libnvidia-ml.so.1 'libcudnn*.so.9' 'libcublas*.so.1[23]' 'libnvrtc*.so.1[23]' \
    'libcudart.so.1[23]' 'libnvJitLink.so.1[23]'; do
    # shellcheck disable=SC2086 # a pattern
    for file in "$place"/$pattern; do
      [ ! -e "$file" ] || [ -e "$out/libraries/${file##*/}" ] || ln -sf "$file" "$out/libraries/${file##*/}"
    done
  done
done
export PATH="$root/bin:$PATH:/usr/local/cuda/bin" HOME="$out/home"
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$out/libraries"

arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i "$device" 2>/dev/null | tr -d . || true)
[ "$arch" != sm_ ] || arch=${GPU_ARCH:-sm_90}
export out device arch here tasks task_seconds check_seconds python

write_table() {
  gpu_visit table "$out" >"$out/table.new" 2>/dev/null && mv "$out/table.new" "$out/table.md" || true
}
child=""
stop() {
  [ -z "$child" ] || kill -TERM -- "-$child" 2>/dev/null || true
  write_table
  echo "gpu_visit: stopped after $(($(date +%s) - started)) s; start it again to go on" >&2
  exit 1
}
trap stop TERM INT HUP

# step NAME SECONDS COMMAND...: runs it in a group of its own, unless it is done or the time is up.
step() {
  local name=$1 limit=$2 begun code=0
  shift 2
  if [ -n "$only" ] && [[ $only != *,$name,* && $only != *,${name%%/*},* ]]; then return 0; fi
  if grep -qs "^$name	" "$out/steps.tsv"; then return 0; fi
  if [ "$(left)" -lt 4 ]; then
    echo "== $name: left out, the time is up"
    return 0
  fi
  [ "$limit" -le "$(left)" ] || limit=$(left)
  mkdir -p "$out/logs/$(dirname "$name")"
  echo "== $name ($(($(date +%s) - started)) s)"
  begun=$(date +%s.%N)
  setsid timeout -k 3 "$limit" "$@" >"$out/logs/$name.txt" 2>&1 &
  child=$!
  echo "$child" >"$out/running" || true
  wait "$child" || code=$?
  child=""
  rm -f "$out/running"
  printf '%s\t%s\t%s\n' "$name" "$code" "$(echo "$(date +%s.%N) $begun" | awk '{printf "%.1f", $1 - $2}')" \
    >>"$out/steps.tsv" || fail "$out/steps.tsv cannot be written: what is in $out is what there is"
  [ "$code" -eq 0 ] || echo "   exit code $code: $(tail -n 1 "$out/logs/$name.txt" | cut -c 1-300)"
  write_table
}

has_torch=""
[ -z "$python" ] || has_torch=$("$python" -c 'import importlib.util as u; print("yes" if u.find_spec("torch") else "")' 2>/dev/null || true)

facts() {
  {
    nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit --format=csv,noheader -i "$device" || echo "no nvidia-smi"
    sed -n 's/^model name[^:]*: /host: /p' /proc/cpuinfo | head -n 1
    echo "host: $(nproc) CPUs, $(grep -qw amx_int8 /proc/cpuinfo && echo with || echo without) AMX, $(uname -r)"
    ldd --version | head -n 1
    tilewright --version
  } >"$out/facts.txt"
  cat "$out/facts.txt"
  nvidia-smi
  nvidia-smi -q -d CLOCK,POWER,PERFORMANCE
  lscpu
  df -h "$out" /tmp
  ls -l "$out/libraries"
  tilewright targets
  tilewright doctor
  true
}
# Random kernels of every template and of every rule, on the device: processes with seeds of their own.
check() {
  local i pids=() code=0
  for i in 1 2 3 4 5 6 7 8; do
    simt_check "$check_seconds"s "$((100 + i))" --device "$device" >"$out/logs/checks/templates_$i.txt" 2>&1 &
    pids+=($!)
  done
  for i in 1 2 3 4; do
    expression_check "$check_seconds"s 3 "$((100 + i))" "cuda -arch=$arch" --device "$device" \
      >"$out/logs/checks/rules_$i.txt" 2>&1 &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i" || code=1; done
  tail -qn 1 "$out"/logs/checks/*.txt
  return $code
}
tune() {  # KEY
  tilewright tune "$1" --target "cuda -arch=$arch" --device "$device" --libs cudnn,cublas --records "$out/records.db" \
    --budget "${task_seconds}s" --json
}
# network NAME MODEL FORM...: compiled with what was found, verified, timed.
network() {
  local name=$1 model=$2 records=()
  shift 2
  [ ! -e "$out/records.db" ] || records=(--records "$out/records.db")
  tilewright model "$model" "$@" -o "$out/work/$name.onnx" &&
    tilewright compile "$out/work/$name.onnx" --target "cuda -arch=$arch" --device "$device" "${records[@]}" \
      -o "$out/work/$name.so" &&
    tilewright bench "$out/work/$name.so" --device "$device" --json >"$out/$name.json" &&
    tilewright verify "$out/work/$name.onnx" "$out/work/$name.so" --device "$device"
}
tophub() {
  [ -e "$here/cuda_v0.10.log" ] || { echo "no log of TopHub in this bundle"; return 0; }
  local name keys=()
  for name in resnet18_v1 resnet50_v1; do
    tilewright model "$name" -o "$out/work/$name.onnx" && tilewright tasks "$out/work/$name.onnx" --json >"$out/work/$name.json" &&
      keys+=("$out/work/$name.json")
  done
  gpu_visit tophub "$here/cuda_v0.10.log" "$out/tophub.tsv" --device "$device" --arch "$arch" --models v100,1080ti \
    --tasks "$(IFS=,; echo "${keys[*]}")"
}
winners() { tilewright records best "$out/records.db" --json >"$out/best.json" && gpu_visit winners "$out/best.json" --device "$device"; }
sanitizer() {  # TOOL
  local program
  for program in compute-sanitizer /opt/nvidia/*/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer; do
    command -v "$program" >/dev/null || continue
    "$program" --tool "$1" --error-exitcode 9 "$root/bin/gpu_visit" winners "$out/best.json" --device "$device"
    return
  done
  echo "no compute-sanitizer here"
  return 1
}
energy() {
  local key="dense(float16[2048,768]MK,float16[3072,768]NK)->float16"
  # Two loops of known work beside it: see torch_peer.py.
  tilewright tune "$key" --target "cuda -arch=$arch" --device "$device" --metric seconds,joules --records "$out/energy.db" \
    --budget 12s --json
  [ -z "$has_torch" ] || "$python" "$here/torch_peer.py" energy "$out/torch_energy.json"
}
cpu() {
  grep -qw amx_int8 /proc/cpuinfo || { echo "no AMX here"; return 0; }
  tilewright tune "dense(uint8[128,768]MK,int8[3072,768]NK)->int32" --records "$out/cpu.db" --budget 12s --json
  echo "bfloat16 of CPUs is not there yet"
}
report() {
  tilewright records check "$out/records.db"
  tilewright records stats "$out/records.db"
  tilewright records export-csv "$out/records.db" -o "$out/trials.csv"
  tilewright report "$out/records.db" --no-code -o "$out/report.html"
}
export root has_torch
export -f facts check tune network tophub winners sanitizer energy cpu report
run() {  # NAME SECONDS FUNCTION ARGUMENT...: a step that is a function of this script
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" bash -c '"$@"' _ "$@"
}
torch() { [ -z "$has_torch" ] || step "$1" "$2" "$python" "$here/torch_peer.py" "${@:3}"; }

run facts 20 facts
run check $((check_seconds + 12)) check
torch torch_1 30 tasks "$tasks" "$out/torch_1.json"
while IFS=$'\t' read -r name key; do
  run "tune/$name" $((task_seconds + 15)) tune "$key"
done <"$tasks"
torch torch_2 30 tasks "$tasks" "$out/torch_2.json"
run winners 20 winners
run network/resnet50_f32 45 network resnet50_f32 resnet50_v1
run network/resnet50_f16 45 network resnet50_f16 resnet50_v1 --float16
run network/resnet50_i8 45 network resnet50_i8 resnet50_v1 --int8
run network/encoder_f32 40 network encoder_f32 bert_base_encoder
run network/encoder_f16 40 network encoder_f16 bert_base_encoder --float16
run network/encoder_i8 40 network encoder_i8 bert_base_encoder --int8
run tophub 60 tophub
run sanitizer/memcheck 40 sanitizer memcheck
run sanitizer/racecheck 40 sanitizer racecheck
run report 20 report
torch torch_networks 60 networks "$out/torch_networks.json"
run energy 30 energy
run cpu 30 cpu
rm -rf "$out/work"
write_table
bad=$(awk -F '\t' '$2 != 0' "$out/steps.tsv" | wc -l)
echo "gpu_visit: $(wc -l <"$out/steps.tsv") steps done, $bad not well, after $(($(date +%s) - started)) s: $out/table.md"
[ "$bad" -eq 0 ]
