#!/usr/bin/env bash
# fleet_faults.sh TILEWRIGHT KILLS TRIALS: jobs on fake devices, some of which cannot build, and
# builders, each in its own network namespace, as is the broker. Workers, builders, tuner and broker
# are killed with SIGKILL at random, KILLS times in all. In between, workers are stopped for 30 s,
# links go down, and the broker loses all its data, or its disk (a tmpfs) is full. Compares each
# job's store with that of the same undisturbed job. Jobs of other seeds follow until the number of
# kills is reached. Finally measures the cost of a worker's death. Needs root (namespaces, mount),
# nats-server, sqlite3.
set -euo pipefail

tilewright=$(realpath "$1") kills=$2 trials=$3
server=/usr/sbin/nats-server
. "$(dirname "$0")/fleet_common.sh"
tag=tw$(($$ % 10000))
net=10.213.$((RANDOM % 200 + 20))
url=nats://$net.1:4222
runners=(w1 w2 w3) wholes=(w4 w5 w6) builders=(b1 b2)
workers=("${runners[@]}" "${wholes[@]}" "${builders[@]}")
clean_more() {
  for name in server "${workers[@]}"; do ip netns del "$tag$name" 2>/dev/null || true; done
  ip link del "$tag" 2>/dev/null || true
  umount "$work/store" 2>/dev/null || true
}
RANDOM=7

# A bridge here, and a link into each namespace: address 1 is the broker's.
ip link add name "$tag" type bridge
ip addr add "$net.254/24" dev "$tag"
ip link set "$tag" up
address=1
for name in server "${workers[@]}"; do
  ip netns add "$tag$name"
  ip link add "$tag$name" type veth peer name eth0 netns "$tag$name"
  ip link set "$tag$name" master "$tag" up
  ip -n "$tag$name" addr add "$net.$address/24" dev eth0
  ip -n "$tag$name" link set eth0 up
  ip -n "$tag$name" link set lo up
  address=$((address + 1))
done
mkdir store
mount -t tmpfs -o size=48m none store

run_server() {
  # Retried until the broker is up, or has reported that its storage is full.
  ip netns exec "${tag}server" $server -a 0.0.0.0 -p 4222 -js -sd "$work/store" >>server.log 2>&1 &
  pids[server]=$!
}
run_worker() {
  local does=()
  case " ${runners[*]} " in *" $1 "*) does=(--measure) ;; esac
  case " ${builders[*]} " in *" $1 "*) does=(--build) ;; esac
  ip netns exec "$tag$1" "$tilewright" worker --insecure --fleet "$url" --name "$1" "${does[@]}" --made-up "$seconds" >>"$1.log" 2>&1 &
  pids[$1]=$!
}
# As a supervisor does: members that exited because the broker was unreachable are restarted.
revive() {
  for name in "${workers[@]}"; do
    kill -0 "${pids[$name]:-999999999}" 2>/dev/null || run_worker "$name"
  done
}
tune() { # STORE SEED TRIALS
  "$tilewright" tune --job job.json --insecure --fleet "$url" --records "$1" --seed "$2" --trials "$3" --strategy random --target llvm --json
}
run_tuner() { # not by tune(): the process itself is to be killed
  "$tilewright" tune --job job.json --insecure --fleet "$url" --records killed.db --seed "$seed" --trials "$trials" --strategy random --target llvm --json >tuner.out 2>>tuner.log &
  pids[tuner]=$!
}
# Trials that a reader of the store has seen: they must not disappear.
snapshot() { [ ! -f killed.db ] || sum killed.db 'SELECT workload, template, config_index, value FROM trial WHERE attempt = 0' >>seen || true; }
slay() {
  kill -9 "${pids[$1]}" 2>/dev/null || true
  wait "${pids[$1]}" 2>/dev/null || true
  killed[$1]=$((${killed[$1]:-0} + 1))
  done_kills=$((done_kills + 1))
}
link() { ip link set "$tag$1" "$2"; }
aside() { "$@" & others+=($!); }
stand_still() { kill -STOP "$1" && sleep 30 && kill -CONT "$1"; } 2>/dev/null
cut_off() { link "$1" down; sleep "$2"; link "$1" up; }
fill_disk() { dd if=/dev/zero of=store/full bs=64k 2>/dev/null || true; sleep 5; rm -f store/full; }

"$tilewright" model squeezenet1_1 -o m.onnx
echo '{"graph": "m.onnx", "early_stop_trials": 0}' >job.json
seconds=0.02
run_server
sleep 1
revive
sleep 1
declare -A killed=() other=()
done_kills=0 job=0 bad=0
while [ "$done_kills" -lt "$kills" ]; do
  job=$((job + 1)) seed=$((job + 10))
  rm -f killed.db* quiet.db* seen
  wait_free=$(now)
  tune quiet.db "$seed" "$trials" >quiet.out 2>>quiet.log
  echo "job $job undisturbed: $trials trials in $(since "$wait_free") s"
  begin=$(now)
  before=$done_kills
  run_tuner
  while [ "$done_kills" -lt "$kills" ]; do
    sleep "0.$((RANDOM % 4 + 1))"
    revive
    if ! kill -0 "${pids[tuner]}" 2>/dev/null; then
      wait "${pids[tuner]}" 2>/dev/null && break
      run_tuner
    fi
    worker=${workers[RANDOM % ${#workers[@]}]}
    draw=$((RANDOM % 100))
    if [ "$draw" -lt 62 ]; then
      slay "$worker"
      run_worker "$worker"
    elif [ "$draw" -lt 78 ]; then
      snapshot
      slay tuner
      run_tuner
    elif [ "$draw" -lt 86 ]; then
      slay server
      if [ $((RANDOM % 2)) -eq 0 ]; then
        rm -rf store/*
        other[lost]=$((${other[lost]:-0} + 1))
      fi
      run_server
    elif [ "$draw" -lt 90 ]; then
      aside stand_still "${pids[$worker]}"
      other[stopped]=$((${other[stopped]:-0} + 1))
    elif [ "$draw" -lt 96 ]; then
      aside cut_off "$worker" $((RANDOM % 12 + 2))
      other[cut]=$((${other[cut]:-0} + 1))
    elif [ "$draw" -lt 98 ]; then
      cut_off server $((RANDOM % 6 + 2))
      other[broker_cut]=$((${other[broker_cut]:-0} + 1))
    else
      # From then on the server runs without storage, until it is restarted.
      fill_disk
      slay server
      run_server
      other[full]=$((${other[full]:-0} + 1))
    fi
  done
  for _ in $(seq 1200); do
    revive
    kill -0 "${pids[server]}" 2>/dev/null || run_server
    if kill -0 "${pids[tuner]}" 2>/dev/null; then sleep 0.5; continue; fi
    wait "${pids[tuner]}" 2>/dev/null && break
    run_tuner
  done
  if kill -0 "${pids[tuner]}" 2>/dev/null; then
    echo "job $job does not end:"
    tail -n 5 tuner.log
    exit 1
  fi
  # Stopped processes continue, so that every job ends with all of its members.
  wait "${others[@]}" 2>/dev/null || true
  others=()
  count='SELECT count(*) FROM trial WHERE attempt = 0'
  doubled='SELECT count(*) FROM (SELECT 1 FROM trial WHERE attempt = 0 GROUP BY workload, template, config_index HAVING count(*) > 1)'
  # By the workloads' keys: each store numbers them in order of arrival.
  keyed='SELECT w.key AS task, template, config_index, outcome, value FROM'
  here="$keyed trial t JOIN workload w ON w.id = t.workload WHERE attempt = 0"
  there="$keyed q.trial t JOIN q.workload w ON w.id = t.workload WHERE attempt = 0"
  both="ATTACH 'quiet.db' AS q; WITH k AS ($here), z AS ($there)"
  same='z.task = k.task AND z.template = k.template AND z.config_index = k.config_index'
  otherwise="$both SELECT count(*) FROM k WHERE NOT EXISTS (SELECT 1 FROM z WHERE $same)"
  wrong="$both SELECT count(*) FROM k JOIN z ON $same WHERE k.outcome <> z.outcome OR k.value <> z.value"
  best='SELECT w.key, min(value) FROM trial t JOIN workload w ON w.id = t.workload WHERE outcome = 0 AND attempt = 0 GROUP BY w.key ORDER BY w.key'
  sum killed.db 'SELECT workload, template, config_index, value FROM trial WHERE attempt = 0' | sort -u >all
  lost=$(sort -u seen 2>/dev/null | comm -23 - all | wc -l)
  served=$(diff <(sum killed.db "$best") <(sum quiet.db "$best") | grep -c '^<' || true)
  found="$(sum killed.db "$count") $lost $(sum killed.db "$doubled") $(sum killed.db "$otherwise") $(sum killed.db "$wrong") $served"
  set -- $found
  echo "job $job disturbed: $((done_kills - before)) kills, ended after $(since "$begin") s; $1 of $(sum quiet.db "$count") trials in the store; of those seen in it before lost $2; doubled $3; proposed otherwise $4; with another value or outcome $5; tasks served otherwise $6"
  [ "$found" = "$(sum quiet.db "$count") 0 0 0 0 0" ] || bad=1
  "$tilewright" records check killed.db | tail -n 1
  grep -o '"fleet":{[^[]*' tuner.out || true
done
echo "killed $done_kills: workers and builders $((done_kills - ${killed[tuner]:-0} - ${killed[server]:-0})), tuner ${killed[tuner]:-0}, broker ${killed[server]:-0}; of these with all that it had ${other[lost]:-0}, with a full disk ${other[full]:-0}"
echo "besides: workers stopped for 30 s ${other[stopped]:-0}, workers cut off for 2 to 13 s ${other[cut]:-0}, broker cut off for 2 to 7 s ${other[broker_cut]:-0}"

# Cost of a death: from the last message of an order's holder to the first one of its next holder.
kill -9 "${pids[@]}" 2>/dev/null || true
wait 2>/dev/null || true
rm -rf store/* killed.db*
pids=() deaths=0 seconds=0.2
run_server
sleep 1
revive
sleep 1
tune killed.db 1 900 >tuner.out 2>>tuner.log &
pids[tuner]=$!
while sleep 1.5 && kill -0 "${pids[tuner]}" 2>/dev/null; do
  worker=${workers[RANDOM % ${#workers[@]}]}
  kill -9 "${pids[$worker]}" 2>/dev/null || true
  wait "${pids[$worker]}" 2>/dev/null || true
  deaths=$((deaths + 1))
  revive
done
echo "deaths of workers alone: $deaths; longest time without an order that was lost with one: $(grep -o '"longest_loss_seconds":[0-9.]*' tuner.out | cut -d: -f2) s"
exit $bad
