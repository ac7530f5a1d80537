#!/usr/bin/env bash
# fleet_faults.sh TILEWRIGHT KILLS TRIALS: a job on made-up devices whose workers, broker and tuner are
# killed with SIGKILL at random, KILLS times in all, or stopped for a while, and whose broker now and then
# loses all that it had. Then the store is compared with that of the same job undisturbed.
set -euo pipefail

tilewright=$(realpath "$1") kills=$2 trials=$3
server=/usr/sbin/nats-server
work=$(mktemp -d)
cd "$work"
port=$((20000 + RANDOM % 20000))
url=nats://127.0.0.1:$port
export XDG_DATA_HOME=$work/data XDG_CONFIG_HOME=$work/config
declare -A pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; cd /; rm -rf "$work"' EXIT
RANDOM=7

run_server() {
  $server -a 127.0.0.1 -p "$port" -js -sd "$work/store" >server.log 2>&1 &
  pids[server]=$!
}
run_worker() {
  "$tilewright" worker --fleet "$url" --name "$1" --made-up 0.02 >"$1.log" 2>&1 &
  pids[$1]=$!
}
tune() { # STORE
  "$tilewright" tune --job job.json --fleet "$url" --records "$1" --trials "$trials" --strategy random --target llvm --json
}
run_tuner() {
  tune killed.db >tuner.out 2>>tuner.log &
  pids[tuner]=$!
}
workers=(w1 w2 w3 w4 w5 w6)

"$tilewright" model squeezenet1_1 -o m.onnx
echo '{"graph": "m.onnx", "early_stop_trials": 0}' >job.json
run_server
sleep 1
for worker in "${workers[@]}"; do run_worker "$worker"; done
sleep 1
begin=$(date +%s.%N)
tune quiet.db >quiet.out 2>quiet.log
echo "undisturbed: $trials trials in $(echo "$(date +%s.%N) - $begin" | bc) s"

begin=$(date +%s.%N)
run_tuner
done_kills=0 stops=0 losses=0
declare -A killed=([worker]=0 [server]=0 [tuner]=0)
while [ "$done_kills" -lt "$kills" ]; do
  sleep "0.$((RANDOM % 5 + 1))"
  if ! kill -0 "${pids[tuner]}" 2>/dev/null; then
    wait "${pids[tuner]}" 2>/dev/null && break
    run_tuner
  fi
  draw=$((RANDOM % 20))
  if [ "$draw" -lt 14 ]; then
    worker=${workers[RANDOM % ${#workers[@]}]}
    kill -9 "${pids[$worker]}" 2>/dev/null || true
    run_worker "$worker"
    killed[worker]=$((killed[worker] + 1))
  elif [ "$draw" -lt 17 ]; then
    kill -9 "${pids[tuner]}" 2>/dev/null || true
    wait "${pids[tuner]}" 2>/dev/null || true
    run_tuner
    killed[tuner]=$((killed[tuner] + 1))
  elif [ "$draw" -lt 19 ]; then
    kill -9 "${pids[server]}" 2>/dev/null || true
    wait "${pids[server]}" 2>/dev/null || true
    if [ $((RANDOM % 2)) -eq 0 ]; then
      rm -rf store
      losses=$((losses + 1))
    fi
    run_server
    killed[server]=$((killed[server] + 1))
  else
    worker=${workers[RANDOM % ${#workers[@]}]}
    stopped=${pids[$worker]}
    kill -STOP "$stopped" 2>/dev/null || true
    (sleep 30; kill -CONT "$stopped" 2>/dev/null) &
    stops=$((stops + 1))
    continue
  fi
  done_kills=$((done_kills + 1))
done
for _ in $(seq 600); do
  if kill -0 "${pids[tuner]}" 2>/dev/null; then sleep 0.5; continue; fi
  wait "${pids[tuner]}" 2>/dev/null && break
  run_tuner
done
echo "disturbed: ended after $(echo "$(date +%s.%N) - $begin" | bc) s; killed $done_kills (workers ${killed[worker]}, tuner ${killed[tuner]}, broker ${killed[server]}, of these $losses with all that it had), stopped for 30 s: $stops"

sum() { sqlite3 "$1" "$2"; }
count='SELECT count(*) FROM trial WHERE attempt = 0'
doubled='SELECT count(*) FROM (SELECT 1 FROM trial WHERE attempt = 0 GROUP BY workload, template, config_index HAVING count(*) > 1)'
other="ATTACH 'quiet.db' AS q; SELECT count(*) FROM trial t WHERE t.attempt = 0 AND NOT EXISTS (SELECT 1 FROM q.trial u WHERE u.attempt = 0 AND u.template = t.template AND u.config_index = t.config_index)"
wrong="ATTACH 'quiet.db' AS q; SELECT count(*) FROM trial t JOIN q.trial u ON u.attempt = 0 AND t.attempt = 0 AND u.template = t.template AND u.config_index = t.config_index WHERE t.outcome <> u.outcome OR t.value <> u.value"
echo "trials in the store: $(sum killed.db "$count") of $(sum quiet.db "$count"); doubled $(sum killed.db "$doubled"); proposed otherwise $(sum killed.db "$other"); with another value or outcome $(sum killed.db "$wrong")"
"$tilewright" records check killed.db | tail -n 1
tail -n 1 tuner.out | grep -o '"fleet":{[^[]*' || true
