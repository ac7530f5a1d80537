#!/usr/bin/env bash
# fleet_drift.sh TILEWRIGHT [SECONDS [FACTOR]]: a job of about SECONDS (300) on four fake devices,
# each a worker process with a real broker. Runs once undisturbed, and once with a fifth device
# instead of one that is FACTOR (1.08) times as slow during the second half. Prints when that device
# was excluded, which of its trials were measured again and their values, and whether the finally
# served configs are those of the undisturbed job. Needs nats-server, sqlite3.
set -euo pipefail

tilewright=$(realpath "$1") seconds=${2:-300} factor=${3:-1.08}
. "$(dirname "$0")/fleet_common.sh"
device_seconds=0.05
trials=$((seconds * 4 * 20))
run_worker() {
  "$tilewright" worker --fleet "$url" --name "$1" --made-up $device_seconds "${@:2}" >"$1.log" 2>&1 &
  pids[$1]=$!
}
tune() { # STORE
  "$tilewright" tune --job job.json --fleet "$url" --records "$1.db" --seed 5 --trials "$trials" --strategy random --target llvm --json >"$1.out" 2>"$1.log"
}

run_broker
"$tilewright" model resnet50_v1 -o m.onnx
echo '{"graph": "m.onnx", "early_stop_trials": 0}' >job.json
for name in w1 w2 w3; do run_worker $name; done
run_worker w4
sleep 1
begin=$(now)
tune quiet
echo "undisturbed: $(done_trials quiet.db) trials in $(since "$begin") s"
kill "${pids[w4]}"
sleep 1
# The worker prints its start, so that the time of the slowdown is known: now, and half of the job.
half=$((seconds / 2))
run_worker slow --made-up-slower "$factor@$half"
until grep -q 'devices\? of class' slow.log; do sleep 0.05; done # on a busy machine it begins late
slow_at=$(echo "$(now) + $half" | bc)
sleep 1
tune drift &
tuner=$!
pids[tuner]=$tuner
aside=
while sleep 0.5 && kill -0 $tuner 2>/dev/null; do
  if [ -z "$aside" ] && grep -q 'is set aside' drift.log 2>/dev/null; then
    aside=$(now)
    at_aside=$(done_trials drift.db)
  fi
done
wait $tuner
grep 'set aside' drift.log || { echo "not set aside"; tail -n 3 drift.log; exit 1; }
echo "$factor times as slow after $half s; set aside $(echo "$aside - $slow_at" | bc) s later, with $at_aside of $trials trials done"
grep -o '"revised":[0-9]*' drift.out
both="ATTACH 'quiet.db' AS q; WITH
  k AS (SELECT w.key AS task, template, config_index, outcome, value, attempt, finished FROM trial t JOIN workload w ON w.id = t.workload),
  z AS (SELECT w.key AS task, template, config_index, outcome, value FROM q.trial t JOIN q.workload w ON w.id = t.workload WHERE attempt = 0)"
same='z.task = k.task AND z.template = k.template AND z.config_index = k.config_index'
off='abs(k.value / z.value - 1) > 0.01'
otherwise() { sum drift.db "$both SELECT $1 FROM k WHERE attempt = 0 AND NOT EXISTS (SELECT 1 FROM z WHERE $same)"; }
per_task() { sum "$1" 'SELECT w.key, count(*) FROM trial t JOIN workload w ON w.id = t.workload WHERE attempt = 0 GROUP BY 1 ORDER BY 1'; }
echo "proposed otherwise: $(otherwise 'count(*)') configs of $(otherwise 'count(DISTINCT task)') tasks; tasks with another number of trials: $(diff <(per_task quiet.db) <(per_task drift.db) | grep -c '^>' || true)"
# For each task, one store contains the other's trials, and maybe more: the searches are identical.
both_ways="(SELECT DISTINCT task FROM k WHERE attempt = 0 AND NOT EXISTS (SELECT 1 FROM z WHERE $same)) INTERSECT SELECT DISTINCT task FROM z WHERE NOT EXISTS (SELECT 1 FROM k WHERE attempt = 0 AND $same)"
echo "tasks that went another way: $(sum drift.db "$both SELECT count(*) FROM (SELECT * FROM $both_ways)")"
slow="$(sum drift.db "$both SELECT count(*) FROM k JOIN z ON $same WHERE attempt = 0 AND $off")"
again="$(sum drift.db "$both SELECT count(*) FROM k JOIN z ON $same WHERE attempt = 0 AND $off AND EXISTS (SELECT 1 FROM k r WHERE r.attempt = -2 AND r.task = k.task AND r.template = k.template AND r.config_index = k.config_index)")"
first=$(sum drift.db "$both SELECT printf('%.3f', min(finished)) FROM k JOIN z ON $same WHERE attempt = 0 AND $off")
echo "the first slow time was measured $(echo "$first - $slow_at" | bc) s after it became slower"
echo "trials with a time of the slow device: $slow; of these measured again: $again"
echo "measured again: $(sum drift.db "$both SELECT count(*) FROM k WHERE attempt = -2"); of these off the undisturbed time: $(sum drift.db "$both SELECT count(*) FROM k JOIN z ON $same WHERE attempt = -2 AND $off")"
# The served configs: the winners of the races.
final() { sum "$1" 'SELECT w.key, t.template, t.config_index FROM best b JOIN trial t ON t.id = b.trial JOIN workload w ON w.id = b.workload ORDER BY w.key'; }
if cmp -s <(final quiet.db) <(final drift.db); then
  echo "final configs: $(final quiet.db | wc -l) tasks, all as without the slow device"
else
  echo "final configs differ:"
  diff <(final quiet.db) <(final drift.db) | head
  exit 1
fi
