#!/usr/bin/env bash
# kill_test.sh TILEWRIGHT [KILLS]: kills a running tuning job with SIGKILL at random times and
# restarts it. After each kill: the store passes PRAGMA integrity_check, no trial that another
# process had seen committed is missing, and the next trial is stored within 2 s of the restart.
# Prints one line of totals; exit code 1 if a check failed.
set -uo pipefail

tilewright=$1
kills=${2:-200}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
RANDOM=1

"$tilewright" model squeezenet1_1 -o "$work/model.onnx" || exit 1
db=$work/records.db
count() { sqlite3 "file:$db?mode=ro" 'SELECT count(*) FROM trial' 2>/dev/null || echo 0; }
now() { date +%s%N; }

lost=0 corrupt=0 late=0 slowest=0
for ((kill = 1; kill <= kills; ++kill)); do
  before=$(count)
  started=$(now)
  "$tilewright" tune "$work/model.onnx" --records "$db" --trials 1000000 --seed 7 >/dev/null 2>"$work/log" &
  job=$!
  # Waits for the first new trial, then for a random time up to 1.5 s.
  while [ "$(count)" -le "$before" ]; do
    if ! kill -0 "$job" 2>/dev/null; then
      cat "$work/log" >&2
      exit 1
    fi
    sleep 0.02
    [ $((($(now) - started) / 1000000)) -gt 20000 ] && break
  done
  first=$((($(now) - started) / 1000000))
  [ "$first" -gt "$slowest" ] && slowest=$first
  [ "$kill" -gt 1 ] && [ "$first" -gt 2000 ] && late=$((late + 1))
  sleep "$(awk -v r=$RANDOM 'BEGIN { print r / 32768 * 1.5 }')"
  seen=$(sqlite3 "file:$db?mode=ro" 'SELECT id FROM trial' | sort >"$work/seen"; wc -l <"$work/seen")
  kill -9 "$job"
  wait "$job" 2>/dev/null
  [ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ] || corrupt=$((corrupt + 1))
  missing=$(sqlite3 "$db" 'SELECT id FROM trial' | sort | comm -13 - "$work/seen" | wc -l)
  lost=$((lost + missing))
  [ $((kill % 20)) -eq 0 ] && echo "$kill kills, $seen trials, slowest first trial $slowest ms"
done
leftover=$(pgrep -f "$work" | wc -l)
echo "$kills kills: $lost acknowledged trials lost, $corrupt corrupt stores, $late restarts over 2 s (slowest $slowest ms), $leftover processes left behind, $(count) trials kept"
[ "$lost" -eq 0 ] && [ "$corrupt" -eq 0 ] && [ "$late" -eq 0 ]
