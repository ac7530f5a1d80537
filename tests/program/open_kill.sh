#!/bin/bash
# open_kill.sh PROGRAM TIMES [FOLDER]: kills a tuning job of a program (docs/howto-open.md) with
# SIGKILL at random times, and starts it again. Checks that no stored trial is lost, that each
# config is measured once, that nothing is left running, and that the job ends as an undisturbed one.
set -euo pipefail
program=$1
times=$2
folder=${3:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder"
rm -f records.db* clean.db* failed
mark=tilewright_open_kill_$$

cat > space.json <<'EOF'
{"General": {"BenchmarkName": "kill"}, "ConfigurationSpace": {"TuningParameters": [
  {"Name": "a", "Type": "int", "Values": "[i for i in range(80)]"},
  {"Name": "b", "Type": "int", "Values": "[i for i in range(80)]"}], "Conditions": [
  {"Expression": "(a + b) % 3 != 0", "Parameters": ["a", "b"]}]}}
EOF
# Some configs leave a process in a session of its own, some fail, some take longer.
cat > bench.sh <<'EOF'
#!/bin/sh
echo run >> runs.txt
case $(($1 % 8)) in
  0) setsid sleep 1000 > /dev/null 2>&1 < /dev/null & ;;
  1) exit 3 ;;
  *) sleep 0.02 ;;
esac
echo "{\"seconds\": $((1 + ($1 - 50) * ($1 - 50) + ($2 - 7) * ($2 - 7)))}"
EOF
chmod +x bench.sh
export TILEWRIGHT_OPEN_KILL=$mark

tune() { # tune STORE TRIALS; in a subshell, which becomes the program
  exec "$program" tune --space space.json --command './bench.sh {a} {b}' --records "$1" --trials "$2" \
    --job job.json --strategy random --seed 5 --quiet --json
}
count() { "$program" records stats records.db --json 2> /dev/null | sed -n 's/.*"trials": *\([0-9]*\).*/\1/p' | head -1; }
runs() { wc -l < runs.txt; }
left() { # number of processes that the programs have left
  local found=0 pid
  for pid in $(pgrep -x sleep || true); do
    if grep -qz "^TILEWRIGHT_OPEN_KILL=$mark$" "/proc/$pid/environ" 2> /dev/null; then
      found=$((found + 1))
    fi
  done
  echo "$found"
}

# More than the job measures before the last kill.
trials=$((60 + 8 * times))
echo '{"early_stop_trials": 0, "finalists": 2}' > job.json
: > runs.txt
before=0
for ((i = 1; i <= times; ++i)); do
  tune records.db $trials > /dev/null 2> error.txt &
  job=$!
  # At any time: while it starts, or after some runs of the program.
  target=$(($(runs) + RANDOM % 16))
  for ((w = 0; w < 400 && $(runs) < target; ++w)); do sleep 0.05; done
  sleep "0.0$((RANDOM % 10))"
  kill -9 $job 2> /dev/null || true
  wait $job 2> /dev/null || true
  for ((w = 0; w < 100; ++w)); do
    [ "$(left)" = 0 ] && break
    sleep 0.05
  done
  [ "$(left)" = 0 ] || { echo "kill $i: $(left) processes are left" >&2; exit 1; }
  now=$(count || true)
  now=${now:-0}
  grep -q 'does not replay' error.txt && { cat error.txt >&2; exit 1; }
  [ "$now" -ge "$before" ] || { echo "kill $i: $now trials, before $before" >&2; exit 1; }
  before=$now
done
(tune records.db $trials) > end.json 2> error.txt || { cat error.txt >&2; exit 1; }
(tune clean.db $trials) > clean.json 2> error.txt
"$program" records check records.db > check.txt || { cat check.txt >&2; exit 1; }
# The search's trials of both jobs are the same configs with the same outcomes.
for store in records clean; do
  "$program" records export-csv $store.db |
    sed -nE 's/.*\{""index"":([0-9]+),.*\}\}",([a-z_]+),.*/\1 \2/p' | sort -u > $store.txt
done
[ "$(wc -l < clean.txt)" = $trials ] || { echo "$(wc -l < clean.txt) configs, expected $trials" >&2; exit 1; }
cmp records.txt clean.txt || { echo "the killed job measured other configs" >&2; exit 1; }
echo "killed $times times (job of $before trials at the last kill), $trials trials, none lost, nothing left running"
