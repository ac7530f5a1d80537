#!/usr/bin/env bash
# open_kill.sh TILEWRIGHT [KILLS [FOLDER]]: tunes a C program (docs/howto-open.md), kills the tuner with SIGKILL at random
# instants (200 by default; the last tenth during final races) and starts it again. SEED chooses the instants. Checks that
# - what another process has read from the store before a kill is there unchanged after it, and at the end;
# - each stored value is the one that the program wrote to its own journal before it answered;
# - no config has two trials of the search;
# - 3 s after a kill no process of the job is left: compilers, programs, their children and what left their sessions;
# - the job measures the same configs with the same outcomes as one that was not killed, and leaves no temporary files.
# With SERVER=1 the program stays alive and is asked for each config, without a build and a check.
# Prints the number of kills for each state of the job; exit code 1 if a check failed.
set -euo pipefail
tilewright=$(realpath "$1")
kills=${2:-200}
work=${3:-$(mktemp -d)}
[ $# -ge 3 ] || trap 'rm -rf "$work"' EXIT
RANDOM=${SEED:-1}
mkdir -p "$work/tmp"
cd "$work"
mark=tilewright_open_kill_$$

cat >space.json <<'EOF2'
{"General": {"BenchmarkName": "kill"}, "ConfigurationSpace": {"TuningParameters": [
  {"Name": "a", "Type": "int", "Values": "[i for i in range(60)]"},
  {"Name": "b", "Type": "int", "Values": "[i for i in range(240)]"}], "Conditions": [
  {"Expression": "(a + b) % 3 != 0", "Parameters": ["a", "b"]}]}}
EOF2
# One config in eight leaves a process in a session of its own, one a process that ignores signals and is stopped, one fails, and
# one takes long. The others take a few milliseconds. The build, which copies it, has a child.
cat >program.c <<'EOF2'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int a, b, value;
static void Journal(const char* event) {
  FILE* file = fopen("journal", "a");
  fprintf(file, "%s %d %d %d\n", event, a, b, value);
  fclose(file);  // one write
}
static void LeaveProcess(int stopped) {
  if (fork() != 0) return;
  if (fork() != 0) _exit(0);
  for (int i = 0; i < 3; ++i) close(i);
  if (!stopped) setsid();
  for (int i = 1; i < 32; ++i) signal(i, SIG_IGN);
  if (stopped) kill(getpid(), SIGSTOP);
  sleep(1000);
  _exit(0);
}
static void Serve(void) {
  int id;
  while (scanf(" {\"id\":%d,\"config\":{\"a\":%d,\"b\":%d}}", &id, &a, &b) == 3) {
    value = 1 + (a - 40) * (a - 40) + (b - 7) * (b - 7);
    Journal("run");
    if (a % 8 < 2) LeaveProcess(a % 8);
    usleep(a % 8 == 3 ? 60000 : 5000);
    if (a % 8 != 2) Journal("answer");
    if (a % 8 == 2) printf("{\"id\": %d, \"failed\": \"runtime\"}\n", id);
    if (a % 8 != 2) printf("{\"id\": %d, \"seconds\": %d}\n", id, value);
    fflush(stdout);
  }
}
int main(int argc, char** argv) {
  if (argc == 1) {
    Serve();
    return 0;
  }
  a = atoi(argv[1]), b = atoi(argv[2]), value = 1 + (a - 40) * (a - 40) + (b - 7) * (b - 7);
  const int check = argc > 3 && strcmp(argv[3], "check") == 0;
  Journal(check ? "check" : "run");
  if (check) {
    usleep(15000);
    Journal("checked");
    return 0;
  }
  if (a % 8 == 0) LeaveProcess(0);
  if (a % 8 == 1) LeaveProcess(1);
  if (a % 8 == 2) return 3;
  usleep(a % 8 == 3 ? 60000 : 5000);
  Journal("answer");
  printf("{\"seconds\": %d}\n", value);
  fflush(stdout);
  usleep(3000);
  return 0;
}
EOF2
cat >build.sh <<'EOF2'
#!/bin/sh
echo "build $1 $2 0" >>journal
(sleep 0.02; cp program "$3") &
wait $!
echo "built $1 $2 0" >>journal
EOF2
chmod +x build.sh
gcc -O1 program.c -o program

commands=(--build './build.sh {a} {b} {out}' --command '{out} {a} {b}' --check '{out} {a} {b} check')
[ -z "${SERVER:-}" ] || commands=(--input server --command ./program)
tune() { # tune STORE TRIALS FINALISTS
  exec env TILEWRIGHT_OPEN_KILL=$mark TMPDIR="$work/tmp" "$tilewright" tune --space space.json "${commands[@]}" \
    --records "$1" --trials "$2" --job "job$3.json" --strategy random --seed 5 --quiet --json
}
echo '{"early_stop_trials": 0, "finalists": 0}' >job0.json
echo '{"early_stop_trials": 0, "finalists": 4}' >job4.json
left() { grep -lsz "^TILEWRIGHT_OPEN_KILL=$mark\$" /proc/[0-9]*/environ || true; }
rows() { # rows STORE FILE: the trials of a store
  : >"$2"
  [ ! -s "$1" ] || "$tilewright" records export-csv "$1" 2>/dev/null | tail -n +2 | sort >"$2"
}
# trials FILE: index, a, b, outcome, value and attempt of each row
trials() { sed -nE 's/.*"\{""index"":([0-9]+),""values"":\{""a"":([0-9]+),""b"":([0-9]+)\}\}",([a-z_]+),.*,seconds,([^,]*),.*,([0-9]+),[0-9.]+,[^,]*,[^,]*,[^,]*$/\1 \2 \3 \4 \5 \6/p' "$1"; }
pause() { sleep "$(printf '0.%03d' "$1")"; }
fail() { echo "kill $i: $*" >&2; exit 1; }
# state BEGIN: what the program's journal from line BEGIN on, and the rows after the kill, tell about the moment of the kill
state() {
  tail -n "+$1" journal | awk -v store=after.trials 'BEGIN { while ((getline line < store) > 0) { split(line, t, " "); stored[t[2] " " t[3]] = 1 } }
    { key = $2 " " $3; open[$1]++; if ($1 == "answer") answered[key] = 1; if ($1 == "run" && $2 % 8 == 2) --open["run"] }
    END { for (key in answered) if (!(key in stored)) waiting = 1
      print(NR == 0 ? "starting" : open["check"] > open["checked"] ? "check" : open["run"] > open["answer"] ? "run" \
        : waiting ? "answered, not stored" : open["build"] > open["built"] ? "build" : "between") }'
}

: >journal
: >states
i=0 slowest=0 budget=1000000 finalists=0
rows records.db before
for ((i = 1; i <= kills; ++i)); do
  if ((i > kills - kills / 10 && finalists == 0)); then
    # Whole batches of eight configs, so that all of them are those of an undisturbed job.
    finalists=4 budget=$((8 * ($(wc -l <before) / 8 + 3)))
  fi
  begin=$(($(wc -l <journal) + 1))
  tune records.db "$budget" "$finalists" >out.txt 2>err.txt &
  job=$!
  if ((RANDOM % 2)); then
    pause $((RANDOM % 1000))
  else # a moment after one of the next events of a kind
    events=(build built run answer check checked)
    [ -z "${SERVER:-}" ] || events=(run answer)
    event=${events[RANDOM % ${#events[@]}]} number=$((1 + RANDOM % 4))
    for ((w = 0; w < 300; ++w)); do
      [ "$(tail -n "+$begin" journal | grep -c "^$event ")" -lt "$number" ] || break
      kill -0 $job 2>/dev/null || break
      sleep 0.01
    done
    pause $((RANDOM % 60))
  fi
  if ((RANDOM % 3)); then
    rows records.db before.now
    comm -23 before before.now >lost
    [ ! -s lost ] || fail "$(wc -l <lost) trials are gone while the job runs"
    mv before.now before
  fi
  kill -9 $job 2>/dev/null || true
  status=0
  wait $job 2>/dev/null || status=$?
  [ $status -eq 137 ] || [ $status -eq 0 ] || { cat err.txt >&2; fail "the job ended by itself with exit code $status"; }
  [ $status -ne 0 ] || budget=$((budget + 8)) # a job that is over: another race
  ended=$(date +%s%N)
  while [ -n "$(left)" ]; do
    [ $((($(date +%s%N) - ended) / 1000000)) -lt 3000 ] || fail "left running: $(left | sed 's/environ/cmdline/' | xargs cat | tr '\0' ' ')"
    sleep 0.01
  done
  waited=$((($(date +%s%N) - ended) / 1000000))
  [ $waited -le $slowest ] || slowest=$waited
  rows records.db after
  comm -23 before after >lost
  [ ! -s lost ] || { cat lost >&2; fail "$(wc -l <lost) stored trials are lost"; }
  trials after >after.trials
  [ "$(wc -l <after.trials)" -eq "$(wc -l <after)" ] || fail "a row of the store that is no trial"
  awk '$6 == 0 { print $1 }' after.trials | sort | uniq -d >twice
  [ ! -s twice ] || fail "configs $(tr '\n' ' ' <twice) were stored twice"
  if [ $status -eq 0 ]; then echo over; elif ((finalists)); then echo "race: $(state $begin)"; else state $begin; fi >>states
  mv after before
done
i=end
((finalists)) || budget=$((8 * ($(wc -l <before) / 8 + 3)))
(tune records.db "$budget" 4) >end.json 2>err.txt || { cat err.txt >&2; fail "the job does not end"; }
[ -z "$(left)" ] || { sleep 1; [ -z "$(left)" ] || fail "left running after the job"; }
rows records.db after
comm -23 before after >lost
[ ! -s lost ] || fail "$(wc -l <lost) stored trials are lost"
"$tilewright" records check records.db >check.txt || { cat check.txt >&2; fail "a corrupt store"; }
trials after >after.trials
# A value that no program answered, and a failure of a program that did not fail.
awk -v failing="$([ -n "${SERVER:-}" ] && echo 2)" '$1 == "answer" { answered[$2 " " $3 " " $4] = 1 } FILENAME == "after.trials" && !($4 == "ok" ? ($2 " " $3 " " $5) in answered : (failing == "" ? $2 % 8 < 3 : $2 % 8 == failing) && $4 == "run_failed")' \
  journal after.trials >invented
[ ! -s invented ] || { cat invented >&2; fail "trials without an answer of the program"; }
cp journal killed.journal
(tune clean.db "$budget" 4) >clean.json 2>err.txt || { cat err.txt >&2; fail "the undisturbed job does not end"; }
rows clean.db clean
trials clean >clean.trials
for file in after clean; do awk '$6 == 0 { print $1, $4 }' $file.trials | sort >$file.search; done
[ "$(wc -l <clean.search)" -eq "$budget" ] || fail "$(wc -l <clean.search) trials of the undisturbed job, expected $budget"
cmp after.search clean.search || fail "the killed job measured other configs"
[ -z "$(ls tmp)" ] || fail "temporary files: $(ls tmp)"
sort states | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\1 kills, \2/'
echo "killed $kills times, at most $slowest ms until all of its processes had ended; $budget trials as of an undisturbed job: none lost, none twice, nothing left running"
