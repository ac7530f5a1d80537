#!/usr/bin/env bash
# kill_limits.sh TILEWRIGHT [KILLS]: kills a tuning job with SIGKILL at random times and restarts it
# with a smaller, equal or larger --trials. After each run:
#   - the store passes PRAGMA integrity_check,
#   - no trial is missing that another process had seen committed,
#   - the store has at most max(trials before, --trials) trials of the search; a run that ended
#     normally left exactly that many.
# Prints one line of totals; exit code 1 if a check failed.
set -uo pipefail

tilewright=$1
kills=${2:-500}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
RANDOM=7

task='dense(float32[16,256]MK,float32[256,256]NK)->float32'
db=$work/records.db
query() { sqlite3 "file:$db?mode=ro" "$1" 2>/dev/null; }
count() { local n; n=$(query 'SELECT count(*) FROM trial WHERE attempt = 0'); echo "${n:-0}"; }
ids() { query 'SELECT id FROM trial' | sort; }

killed=0 runs=0 ended=0 lost=0 corrupt=0 over=0 short=0 failed=0 smaller=0 equal=0 larger=0
while [ "$killed" -lt "$kills" ]; do
  runs=$((runs + 1))
  before=$(count)
  if [ "$before" -gt 140 ]; then
    rm -f "$db"*
    before=0
  fi
  case $((RANDOM % 4)) in
    0) limit=$((1 + before * (RANDOM % 100) / 101)) ;;
    1) limit=$((before > 0 ? before : 1)) ;;
    2) limit=$((before + 1 + RANDOM % 8)) ;;
    *) limit=$((before + 10 + RANDOM % 90)) ;;
  esac
  if [ "$limit" -lt "$before" ]; then smaller=$((smaller + 1)); elif [ "$limit" -eq "$before" ]; then
    equal=$((equal + 1)); else larger=$((larger + 1)); fi
  "$tilewright" tune "$task" --records "$db" --trials "$limit" --seed 7 >/dev/null 2>"$work/log" &
  job=$!
  sleep "$(awk -v r=$RANDOM 'BEGIN { print 0.1 + r / 32768 * 2.4 }')"
  ids >"$work/seen"
  kill -9 "$job" 2>/dev/null
  wait "$job" 2>/dev/null
  code=$?
  most=$((limit > before ? limit : before))
  after=$(count)
  if [ "$code" -eq 137 ]; then
    killed=$((killed + 1))
  else  # it was over before the signal came
    ended=$((ended + 1))
    [ "$code" -eq 0 ] || { failed=$((failed + 1)); cat "$work/log" >&2; }
    [ "$after" -eq "$most" ] || { short=$((short + 1)); echo "$before, --trials $limit: $after" >&2; }
  fi
  [ "$after" -le "$most" ] || { over=$((over + 1)); echo "$before, --trials $limit: $after" >&2; }
  if [ -e "$db" ]; then
    [ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ] || corrupt=$((corrupt + 1))
    missing=$(ids | comm -13 - "$work/seen" | wc -l)
    lost=$((lost + missing))
  fi
  [ $((runs % 50)) -eq 0 ] && echo "$runs runs, $killed kills, $(count) trials"
done
echo "$killed kills and $ended runs that ended ($smaller with a smaller limit than trials, $equal equal, $larger larger): $lost trials lost, $corrupt corrupt stores, $over over the limit, $short short of it, $failed failed"
[ $((lost + corrupt + over + short + failed)) -eq 0 ]
