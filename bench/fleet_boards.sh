#!/usr/bin/env bash
# fleet_boards.sh TILEWRIGHT RUNNER SOURCE [TRIALS [TARGET]]: two boards on one worker. RUNNER is
# tilewright-runner for aarch64 (the test arm_runner leaves it in BUILD/arm_runner). Both boards are
# that program under qemu-aarch64, connected to a real broker by one `tilewright worker` with two
# --runner. Tunes mobilenet_v2 int8 on them for TRIALS (96) trials, queries each task, compiles the
# network from the records, and compares its results under the emulator, byte by byte, with those on
# this machine. Times under an emulator are meaningless. Needs nats-server, sqlite3, gcc,
# gcc-aarch64-linux-gnu, qemu-user.
set -euo pipefail

tilewright=$(realpath "$1") runner=$(realpath "$2") source=$(realpath "$3") trials=${4:-96}
target=${5:-llvm -mtriple=aarch64-linux-gnu -mattr=+neon,+dotprod}
. "$(dirname "$0")/fleet_common.sh"
fail() {
  echo "FAILED: $*"
  tail -n 5 -- *.log
  exit 1
}
run_broker
board="qemu-aarch64 -L /usr/aarch64-linux-gnu $runner"
root=()
[ "$(id -u)" -eq 0 ] && root=(--allow-root)
"$tilewright" worker "${root[@]}" --fleet "$url" --name bench1 --target "$target" --runner "$board" --runner "$board" >worker.log 2>&1 &
pids[worker]=$!
for _ in $(seq 600); do
  grep -q 'devices of class' worker.log && break
  kill -0 "${pids[worker]}" 2>/dev/null || fail "the worker ended"
  sleep 0.5
done
"$tilewright" fleet status --fleet "$url" --seconds 3

"$tilewright" model mobilenet_v2 --int8 -o m.onnx
begin=$(now)
"$tilewright" tune m.onnx --fleet "$url" --target "$target" --records r.db --trials "$trials" --strategy random --json \
  >tune.out 2>tune.log || fail "tune: $(tail -n 3 tune.log)"
echo "tuned: $(sum r.db 'SELECT count(*) FROM trial WHERE attempt = 0') trials of $(sum r.db 'SELECT count(DISTINCT workload) FROM trial') tasks in $(since "$begin") s; by outcome: $(sum r.db 'SELECT outcome, count(*) FROM trial GROUP BY outcome' | tr '\n' ' '); verified: $(sum r.db 'SELECT count(*) FROM trial WHERE verified = 1')"
grep -o '"fleet":{[^[]*' tune.out
echo "winners confirmed on the other board: $(grep -o '"confirmed":true' tune.out | wc -l) of $(grep -o '"confirmed":' tune.out | wc -l)"
echo "doubts:"
grep -o '"doubt":"[^"]\+"' tune.out | sed 's/[0-9]\+ %/N %/' | sort | uniq -c | sort -rn || true
grep -E 'set aside|has recovered' tune.log || echo "no board was set aside"
"$tilewright" fleet status --fleet "$url" --json --seconds 3 | grep -o '"name":"bench1[^}]*'
"$tilewright" records check r.db | tail -n 1

# Every task has a record, and so does every task of the compiled network.
"$tilewright" query m.onnx --records r.db --target "$target" >query.out
echo "query: $(grep -c 'hit' query.out) hits of $(wc -l <query.out) lines"
cat >whole.c <<'END'
/* Runs a compiled model of one input and one output on the bytes of a file and writes all bytes that it gives. */
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

int main(int argc, char** argv) {
  const size_t size = (size_t)model_input(0)->bytes, given = (size_t)model_output(0)->bytes;
  void *data = malloc(size), *result = malloc(given);
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL || fread(data, 1, size, file) != size || fgetc(file) != EOF) return 2;
  const void* inputs[] = {data};
  void* outputs[] = {result};
  if (model_run(inputs, outputs) != 0) return 1;
  return fwrite(result, 1, given, stdout) == given ? 0 : 1;
}
END
library() { # FOLDER COMPILER COMPILE_OPTION...
  mkdir "$1"
  "$tilewright" compile m.onnx --name model "${@:3}" -o "$1/model.so" >"$1.compile.log" 2>&1 || fail "compile: $(cat "$1.compile.log")"
  "$2" -std=c99 -O1 whole.c -I "$1" -I "$source/include" "$1/model.so" -Wl,-rpath,"$work/$1" -lm -lpthread -o "$1/whole" >"$1.link.log" 2>&1 || fail "$(cat "$1.link.log")"
}
library board aarch64-linux-gnu-gcc --records r.db --target "$target"
library here gcc --model none
grep -iE 'tuned|hit|record|default' board.compile.log | tail -n 3
# 1x3x224x224 floats of both signs from 0.03 to 2; adjacent rows differ.
values=
for i in $(seq 251); do values+=$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((i * 37 % 256)) $((i * 101 % 256)) $((i * 59 % 256)) $((i % 2 * 128 + 61 + i % 3))); done
for _ in $(seq 600); do printf "$values"; done | head -c 602112 >input.raw || true # printf ends by a signal
here/whole input.raw >here.out || fail "here"
qemu-aarch64 -L /usr/aarch64-linux-gnu board/whole input.raw >board.out || fail "board"
cmp here.out board.out || fail "the board's results are others"
echo "exact: all $(wc -c <board.out) bytes of the result ($(od -An -v -tx4 -w4 board.out | sort -u | wc -l) different numbers) are the same on the board and here"
