#!/usr/bin/env bash
# open_faults.sh TILEWRIGHT [ROUNDS]: tunes a program whose configs hang, fork, print garbage, fill the
# disk, answer late, twice or not at all, as a command and as a process that stays alive. Checks that
# each fault is a trial with its outcome and reason, that the good configs have their values, that the
# store is sound and that no process is left. Prints the number of trials of each fault by outcome.
set -euo pipefail
tilewright=$1
rounds=${2:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mark=tilewright_open_faults_$$
export TILEWRIGHT_OPEN_FAULTS=$mark

rounds_list=$(seq -s, 1 "$rounds")
cat >space.json <<EOF2
{"General": {"BenchmarkName": "faults"}, "ConfigurationSpace": {"TuningParameters": [
  {"Name": "fault", "Type": "string", "Values": ["none", "hang", "stopped", "fork", "garbage", "binary",
    "flood", "large_file", "many_files", "late", "twice", "silent", "empty", "exit", "signal", "nan", "negative"]},
  {"Name": "round", "Type": "int", "Values": [$rounds_list]}]}}
EOF2
cat >bench.sh <<'EOF2'
#!/bin/sh
# bench.sh FAULT ROUND: answers, or fails in the way that its name says.
answer() { echo "{\"id\": ${ID:-0}, \"seconds\": 0.5}"; }
case $1 in
  none) answer ;;
  hang) sleep 1000 ;;
  stopped) kill -STOP $$ ;;
  fork) setsid sleep 1000 </dev/null >/dev/null 2>&1 & sleep 1000 & answer ;;
  garbage) echo '{"seconds": '; echo 'words' ;;
  binary) head -c 4096 /dev/urandom; echo '{"seconds": "x"}' ;;
  flood) yes '0123456789abcdef' ;;
  large_file) fallocate -l 2G "$TMPDIR/large" && answer ;;
  many_files) i=0; while [ $i -lt 8 ]; do fallocate -l 900M "$TMPDIR/$i" || exit 1; i=$((i + 1)); done; answer ;;
  late) sleep 6; answer ;;
  twice) answer; answer ;;
  silent) exec >/dev/null; exit 5 ;;
  empty) echo '{}' ;;
  exit) exit 3 ;;
  signal) kill -SEGV $$ ;;
  nan) echo '{"seconds": NaN}' ;;
  negative) echo '{"seconds": -1}' ;;
esac
EOF2
cat >server.sh <<'EOF2'
#!/bin/sh
# Reads a config a line, as bench.sh.
while read -r line; do
  ID=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  export ID
  # shellcheck disable=SC2046
  set -- $(echo "$line" | sed 's/.*"fault":"\([a-z_]*\)","round":\([0-9]*\).*/\1 \2/')
  case $1 in
    silent) exec >/dev/null ;;
    exit) exit 3 ;;
    hang | stopped | signal) . ./bench.sh ;;
    *) ./bench.sh "$1" "$2" ;;
  esac
done
EOF2
chmod +x bench.sh server.sh

left() { # number of processes that the commands have left
  local found=0 pid
  for pid in /proc/[0-9]*; do
    if grep -qzs "^TILEWRIGHT_OPEN_FAULTS=$mark$" "$pid/environ" && [ "${pid#/proc/}" != $$ ] &&
      tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | grep -q '^sleep \|bench\.sh\|server\.sh'; then
      found=$((found + 1))
    fi
  done
  echo "$found"
}

echo '{"early_stop_trials": 0, "finalists": 0}' >job.json
run() { # run STORE INPUT COMMAND
  "$tilewright" tune --space space.json --command "$3" --input "$2" --records "$1" --trials 100000 \
    --time-limit 4 --job job.json --strategy grid --name "$2" --quiet --json >"$2.json"
  "$tilewright" records check "$1" >/dev/null
  for ((w = 0; w < 100; ++w)); do
    [ "$(left)" = 0 ] && break
    sleep 0.05
  done
  [ "$(left)" = 0 ] || { echo "$2: $(left) processes are left" >&2; exit 1; }
  "$tilewright" records export-csv "$1" |
    sed -nE 's/.*""fault"":""([a-z_]+)"".*\}\}",([a-z_]+),.*/\1 \2/p' | sort | uniq -c >"$2.txt"
  # Processes that a process starts which stays alive are its own until it ends.
  awk -v rounds="$rounds" -v server="$([ "$2" = server ] && echo fork)" \
    '$2 == "none" && $3 == "ok" && $1 == rounds { good = 1 }
    $2 != "none" && $2 != server && $3 == "ok" { print "a fault counts as ok: " $0 >"/dev/stderr"; bad = 1 }
    { all += $1 } END { if (bad || !good || all != 17 * rounds) exit 1 }' "$2.txt" ||
    { cat "$2.txt" >&2; exit 1; }
  echo "$2: $((17 * rounds)) configs, no trial lost, nothing left running"
  cat "$2.txt"
}
run command.db none './bench.sh {fault} {round}'
run server.db server ./server.sh
