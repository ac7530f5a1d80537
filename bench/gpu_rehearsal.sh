#!/usr/bin/env bash
# gpu_rehearsal.sh BUILD [KILLS]: scripts/gpu_visit.sh on the fake CUDA driver library, with the
# faults of an unknown machine: KILLS (20) kills at random times, no driver, an older driver, a
# kernel that never ends, a full disk, a directory without write permission. Kernels of the fake
# driver compute nothing except one small product, so most trials have wrong results here. Exit code
# 1 if a finished step or a trial was lost, a failure had no reason, or a process remained. RANDOM's
# seed is fixed; a run takes one to five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
build=$(realpath "${1:?gpu_rehearsal: needs the folder of a build}")
kills=${2:-20}
work=$(mktemp -d)
mounted=""
trap '[ -z "$mounted" ] || umount "$mounted"; rm -rf "$work"' EXIT
RANDOM=11
failures=0
bad() { echo "BAD: $*"; failures=$((failures + 1)); }

# The unpacked bundle.
mkdir -p "$work/bundle/bin" "$work/bundle/visit"
ln -s "$build"/python_free_cli/tilewright "$build"/bench/{gpu_visit,simt_check,expression_check} "$work/bundle/bin/"
cp "$source/scripts/gpu_visit.sh" "$source/bench/gpu_visit/torch_peer.py" "$work/bundle/visit/"
echo "" >"$work/bundle/visit/cuda_v0.10.log"
printf '%s\t%s\n' product 'dense(float32[4,16]MK,float32[32,16]NK)->float32' \
  convolution 'conv2d(int8[1,64,14,14]NCHW,int8[64,64,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32' >"$work/bundle/visit/tasks.tsv"
for kind in "" _old _no_graphs _no_device; do
  mkdir -p "$work/driver$kind"
  cp "$build/tests/libfake_cuda$kind.so" "$work/driver$kind/libcuda.so.1"
  echo 1 >"$work/driver$kind/any_kernel"
done
mkdir "$work/none"

steps=facts,check,tune,winners,tophub,report
# visit FOLDER DRIVER: in the background as `pid`, with its output in FOLDER.txt.
visit() {
  local folder=$1 driver=$2
  GPU_ARCH=sm_80 LD_LIBRARY_PATH="$work/$driver" "$work/bundle/visit/gpu_visit.sh" -o "$folder" \
    --task-seconds 2 --check-seconds 2 --only $steps >>"$folder.txt" 2>&1 &
  pid=$!
}
finish() { code=0; { wait "$pid" || code=$?; } 2>/dev/null; }
trials() {
  [ -e "$1/records.db" ] || { echo 0; return; }
  "$work/bundle/bin/tilewright" records stats "$1/records.db" 2>/dev/null | sed -n 's/.*tasks, \([0-9]*\) trials.*/\1/p'
}

echo "== whole"
begun=$SECONDS
visit "$work/whole" driver && finish
echo "   exit code $code, $(wc -l <"$work/whole/steps.tsv") steps in $((SECONDS - begun)) s, $(trials "$work/whole") trials"
[ "$(cut -f 1 "$work/whole/steps.tsv" | tr '\n' ' ')" = "facts check tune/product tune/convolution winners tophub report " ] || bad "steps: $(cut -f 1 "$work/whole/steps.tsv" | tr '\n' ' ')"
grep -q '^| product | .*dense' "$work/whole/table.md" || bad "the table lacks the best config of the product"
cp "$work/whole/steps.tsv" "$work/before.tsv"
visit "$work/whole" driver && finish
cmp -s "$work/before.tsv" "$work/whole/steps.tsv" || bad "a finished visit did steps again"

echo "== $kills kills"
killed=0 lost=0
known="" most=0
while [ $killed -lt "$kills" ]; do
  visit "$work/killed" driver
  sleep "0.$((RANDOM % 90 + 10))"
  [ $((RANDOM % 3)) -ne 0 ] || sleep $((RANDOM % 3))
  kill -KILL "$pid" 2>/dev/null && killed=$((killed + 1))
  finish
  now=$(cat "$work/killed/steps.tsv" 2>/dev/null || true)
  [[ $now == "$known"* ]] || { lost=$((lost + 1)) && bad "steps were lost: '$known', then '$now'"; }
  known=$now
  there=$(trials "$work/killed")
  [ "$there" -ge "$most" ] || bad "$most trials, then $there"
  most=$there
  # A finished visit starts again, so that every kill hits a running one.
  if [ "$(wc -l <"$work/killed/steps.tsv" 2>/dev/null || echo 0)" -ge 7 ]; then
    rm -rf "$work/killed" && known="" most=0
  fi
done
visit "$work/killed" driver && finish
[ "$(wc -l <"$work/killed/steps.tsv")" -eq 7 ] || bad "not all steps after the kills"
[ ! -e "$work/killed/records.db" ] || "$work/bundle/bin/tilewright" records check "$work/killed/records.db" >"$work/check.txt" || bad "records check: $(tail -n 1 "$work/check.txt")"
sleep 1
left=$(pgrep -cf "$work/bundle/bin" || true)
[ "$left" -eq 0 ] || bad "$left processes were left"
echo "   $killed killed, $lost with lost steps"

for kind in none driver_no_device driver_old; do
  echo "== $kind"
  begun=$SECONDS
  visit "$work/$kind.out" "$kind" && finish
  echo "   exit code $code in $((SECONDS - begun)) s: $(grep -m 1 'tilewright tune' "$work/$kind.out/table.md" | cut -c 1-160)"
  [ "$code" -eq 1 ] || bad "$kind: exit code $code, expected 1"
  grep -q 'tilewright tune: ' "$work/$kind.out/table.md" || bad "$kind: the table has no reason"
done
echo "== driver_no_graphs"
visit "$work/graphs.out" driver_no_graphs && finish
grep -q '^| product | .*dense' "$work/graphs.out/table.md" || bad "nothing was tuned without graphs"

echo "== a kernel that never ends"
begun=$SECONDS
cp -r "$work/driver" "$work/driver_hangs"
echo 40 >"$work/driver_hangs/hang_at"
visit "$work/hang.out" driver_hangs && finish
echo "   exit code $code in $((SECONDS - begun)) s"
[ "$(wc -l <"$work/hang.out/steps.tsv")" -eq 7 ] || bad "not all steps with a kernel that never ends"
grep -q 'run_timeout' "$work/hang.out/table.md" || bad "no run_timeout in the table"

echo "== a stop"
visit "$work/stop.out" driver
sleep 3
kill -TERM "$pid"
finish
[ "$code" -eq 1 ] && grep -q 'start it again' "$work/stop.out.txt" && [ -s "$work/stop.out/table.md" ] || bad "a stop: exit code $code"

if [ "$(id -u)" -eq 0 ]; then
  echo "== a full disk"
  mkdir "$work/full.out"
  if mount -t tmpfs -o size=256k tmpfs "$work/full.out" 2>/dev/null; then
    mounted=$work/full.out
    visit "$work/full.out" driver && finish
    echo "   exit code $code: $(grep -m 1 -i 'space\|written' "$work/full.out.txt" | cut -c 1-160)"
    [ "$code" -ne 0 ] || bad "a full disk: exit code 0"
    grep -qi 'space\|written\|full' "$work/full.out.txt" || bad "a full disk: no reason"
    umount "$work/full.out"
    mounted=""
  else
    bad "no disk of its own can be mounted"
  fi
  echo "== no permission"
  mkdir "$work/forbidden"
  chmod 755 "$work"
  chmod -R go+rX "$work/bundle" "$work/forbidden"
  code=0
  setpriv --reuid 65534 --clear-groups "$work/bundle/visit/gpu_visit.sh" -o "$work/forbidden/out" >"$work/forbidden.txt" 2>&1 || code=$?
  echo "   exit code $code: $(tail -n 1 "$work/forbidden.txt" | cut -c 1-160)"
  [ "$code" -eq 2 ] && grep -q 'cannot be written' "$work/forbidden.txt" || bad "no permission: exit code $code"
fi
echo "gpu_rehearsal: $failures bad, $SECONDS s on $(nproc) CPUs"
[ "$failures" -eq 0 ]
