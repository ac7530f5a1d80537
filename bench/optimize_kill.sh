#!/usr/bin/env bash
# optimize_kill.sh TILEWRIGHT MODEL SAMPLES.npy [KILLS]: kills searches of number formats with SIGKILL at random instants (20 by
# default), each with a store of its own, and resumes each. Checks that
# - every step that was stored before the kill is stored unchanged at the end, and no step twice;
# - errors and noise equal those of a search that was not killed, step by step (times are measured anew);
# - a further run measures nothing and prints the same front as the resumed one;
# - the store passes `records check`.
# Prints a Markdown table; exit code 1 if a check failed. SEED chooses the instants.
set -euo pipefail

tilewright=$(realpath "$1")
model=$(realpath "$2")
samples=$(realpath "$3")
kills=${4:-20}
RANDOM=${SEED:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

options=(--seeded --data "$samples" --threads 1 --no-packages --model none -o out.so --json)
search() { "$tilewright" optimize "$model" "${options[@]}" --records "$1" >"$2" 2>"$2.err"; }
# steps STORE: name and result of each stored step.
steps() {
  [ ! -e "$1" ] || sqlite3 "file:$1?mode=ro" "SELECT task, payload FROM log WHERE kind = 'optimize' ORDER BY seq" 2>/dev/null || true
}
# Steps whose results do not depend on times.
exact() { grep -E '^(calibration|noise|search|held_out)/' "$1" | sort; }

begin=$(date +%s%N)
search whole.db whole.json
whole=$((($(date +%s%N) - begin) / 1000000))
steps whole.db >whole.steps

failures=0
echo "| kill | after (ms of $whole) | steps stored | lost or changed | twice | errors as without a kill | same front |"
echo "|---:|---:|---:|---:|---:|---|---|"
for ((i = 1; i <= kills; ++i)); do
  delay=$((RANDOM * RANDOM % whole))
  "$tilewright" optimize "$model" "${options[@]}" --records "k$i.db" >killed.json 2>killed.err &
  job=$!
  sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
  kill -9 $job 2>/dev/null || true
  wait $job 2>/dev/null || true
  steps "k$i.db" >before
  search "k$i.db" first.json
  steps "k$i.db" >after
  search "k$i.db" second.json
  steps "k$i.db" >again
  lost=$(comm -23 <(grep -v '^result|' before | sort) <(sort after) | wc -l)
  twice=$(cut -d'|' -f1 after | sort | uniq -d | grep -vc '^result$' || true)
  # Combinations follow times, so only steps that both searches have are compared.
  other=$(join -t'|' -j1 <(exact whole.steps) <(exact after) | awk -F'|' '$2 != $3' | wc -l)
  front=yes
  cmp -s first.json second.json && cmp -s after again || front=no
  "$tilewright" records check "k$i.db" >/dev/null || front=corrupt
  echo "| $i | $delay | $(wc -l <before) | $lost | $twice | $([ "$other" -eq 0 ] && echo yes || echo no) | $front |"
  [ "$lost" -eq 0 ] && [ "$twice" -eq 0 ] && [ "$other" -eq 0 ] && [ $front = yes ] || failures=$((failures + 1))
  rm -f "k$i.db"*
done
echo
echo "$((kills - failures)) of $kills kills left everything as it was."
[ "$failures" -eq 0 ]
