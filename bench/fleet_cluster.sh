#!/usr/bin/env bash
# fleet_cluster.sh TILEWRIGHT [TRIALS]: a cluster of three servers as `fleet up` creates it, with
# TLS and keys, each in its own network namespace. A job of TRIALS (6000, of 20 ms on four fake
# devices) runs once undisturbed. It runs again while its servers are killed with SIGKILL one after
# the other, each restarted before the next, and then all at once. Finally two servers stay down,
# which exceeds the cluster's redundancy: the tuner has to end by --broker-timeout, and to resume
# when they are back. Prints the replicas of the streams and the time without stored trials after
# each kill, and compares the stores with that of the undisturbed job. Needs root (namespaces),
# nats-server, sqlite3, openssl.
set -euo pipefail

tilewright=$(realpath "$1") trials=${2:-6000}
. "$(dirname "$0")/fleet_common.sh"
tag=tc$(($$ % 10000))
net=10.214.$((RANDOM % 200 + 20))
clean_more() {
  for i in 1 2 3; do ip netns del "$tag$i" 2>/dev/null || true; done
  ip link del "$tag" 2>/dev/null || true
}
ip link add name "$tag" type bridge
ip addr add "$net.254/24" dev "$tag"
ip link set "$tag" up
for i in 1 2 3; do
  ip netns add "$tag$i"
  ip link add "$tag$i" type veth peer name eth0 netns "$tag$i"
  ip link set "$tag$i" master "$tag" up
  ip -n "$tag$i" addr add "$net.$i/24" dev eth0
  ip -n "$tag$i" link set eth0 up
  ip -n "$tag$i" link set lo up
done

run_server() { # 1, 2 or 3
  ip netns exec "$tag$1" "$tilewright" fleet up "$work/lab$1" --server "$net.$1" >>"server$1.log" 2>&1 &
  pids[$1]=$!
}
slay() {
  kill -9 "${pids[$1]}"
  wait "${pids[$1]}" 2>/dev/null || true
}
tune() { # STORE OPTION...
  exec "$tilewright" tune --job job.json --fleet alice/alice.fleet --records "$1.db" --seed 3 --trials "$trials" --strategy random --target llvm --json "${@:2}" >"$1.out" 2>>"$1.log"
}
# Prints the time until trials are stored again.
gap() {
  local begin before
  begin=$(now) before=$(done_trials disturbed.db)
  for _ in $(seq 900); do
    [ "$(done_trials disturbed.db)" -gt $((before + 100)) ] && break
    kill -0 "$tuner" 2>/dev/null || break
    sleep 0.1
  done
  echo "$1 with $before trials stored: 100 more were after $(since "$begin") s"
}
compare() {
  local both same
  both="ATTACH 'quiet.db' AS q; WITH
    k AS (SELECT w.key AS task, template, config_index, outcome, value FROM trial t JOIN workload w ON w.id = t.workload WHERE attempt = 0),
    z AS (SELECT w.key AS task, template, config_index, outcome, value FROM q.trial t JOIN q.workload w ON w.id = t.workload WHERE attempt = 0)"
  same='z.task = k.task AND z.template = k.template AND z.config_index = k.config_index'
  echo "$1: $(done_trials "$1.db") trials in the store; doubled $(sum "$1.db" 'SELECT count(*) FROM (SELECT 1 FROM trial WHERE attempt = 0 GROUP BY workload, template, config_index HAVING count(*) > 1)'); proposed otherwise $(sum "$1.db" "$both SELECT count(*) FROM k WHERE NOT EXISTS (SELECT 1 FROM z WHERE $same)"); with another value or outcome $(sum "$1.db" "$both SELECT count(*) FROM k JOIN z ON $same WHERE k.outcome <> z.outcome OR k.value <> z.value")"
  "$tilewright" records check "$1.db" | tail -n 1
}

"$tilewright" fleet up lab --host "$net.1,$net.2,$net.3" --write-only 2>/dev/null
"$tilewright" fleet keys add alice --folder lab --role tuner --into alice 2>/dev/null
for name in w1 w2 w3 w4; do "$tilewright" fleet keys add $name --folder lab --role worker --into $name 2>/dev/null; done
"$tilewright" model squeezenet1_1 -o m.onnx
echo '{"graph": "m.onnx", "early_stop_trials": 0}' >job.json
run_worker() {
  "$tilewright" worker --fleet "$1/$1.fleet" --made-up 0.02 >>"$1.log" 2>&1 &
  others+=($!)
}
for i in 1 2 3; do cp -r lab lab$i && run_server $i; done
sleep 6
for name in w1 w2 w3 w4; do run_worker $name; done
sleep 2
class=$("$tilewright" fleet status --fleet lab/admin.fleet --json --seconds 2 | grep -o 'null-[0-9a-f]*' | head -n 1)
"$tilewright" fleet open "$class" --fleet lab/admin.fleet 2>/dev/null
# All servers need the output of `fleet open`: each receives it, and is restarted.
for i in 1 2 3; do
  cp lab/fleet.json lab$i/
  slay $i
  run_server $i
  sleep 5
done
begin=$(now)
(tune quiet) || { tail -n 5 quiet.log; exit 1; }
echo "undisturbed: $(done_trials quiet.db) trials in $(since "$begin") s"
echo "streams by copies: $(cat lab1/store/jetstream/*/streams/*/meta.inf | grep -o '"num_replicas":[0-9]' | sort | uniq -c | tr -s ' \n' ' ')"

begin=$(now)
tune disturbed &
tuner=$!
others+=($tuner)
sleep 5
for server in 1 2 3; do
  kill -0 $tuner 2>/dev/null || break
  slay $server
  gap "server $server killed"
  run_server $server
  sleep 6
done
if kill -0 $tuner 2>/dev/null; then
  for i in 1 2 3; do slay $i; done
  sleep 3
  for i in 1 2 3; do run_server $i; done
  gap "all three killed and started 3 s later"
fi
wait $tuner || { echo "the tuner failed"; tail -n 5 disturbed.log; exit 1; }
echo "disturbed: ended after $(since "$begin") s"
compare disturbed

tune late --broker-timeout 20s &
tuner=$!
others+=($tuner)
sleep 8
slay 2
slay 3
died=$(now)
code=0
wait $tuner || code=$?
echo "two servers gone for good: the tuner ended after $(since "$died") s with exit code $code and $(done_trials late.db) trials stored: $(grep -o 'the broker has not replied.*' late.log | tail -n 1)"
run_server 2
run_server 3
sleep 8
# Until the servers have found each other, a command reports this and exits.
tries=1
until (tune late); do
  [ "$tries" -lt 10 ] || { tail -n 5 late.log; exit 1; }
  tries=$((tries + 1))
  sleep 3
done
echo "resumed by try $tries"
compare late
