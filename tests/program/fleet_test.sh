#!/usr/bin/env bash
# fleet_test.sh TILEWRIGHT SOURCE: a fleet of a broker, workers and tuners, each in its own process,
# without keys and with keys. Needs nats-server.
set -euo pipefail

tilewright=$1
server=/usr/sbin/nats-server
[ -x $server ] || { echo "fleet_test needs nats-server (Debian: nats-server)"; exit 77; }
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
"$tilewright" worker --made-up 1 --fleet nats://127.0.0.1:1 >out 2>err || true
if grep -q 'libnats-dev' err; then echo "fleet_test needs libnats-dev when it is built"; exit 77; fi
has 'no connection' err

processes=()
trap 'kill -9 "${processes[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
# start NAME COMMAND...: runs the command in the background; its output is in NAME.log
start() {
  local name=$1
  shift
  "$@" >"$name.log" 2>&1 &
  processes+=($!)
  last=$!
}
# until_has TEXT FILE: waits up to a minute for the text (machines may be busy).
until_has() {
  for _ in $(seq 600); do
    grep -qF -- "$1" "$2" 2>/dev/null && return
    kill -0 "$last" 2>/dev/null || break
    sleep 0.1
  done
  fail "no '$1' in $2: $(tail -c 800 "$2")"
}
# A killed process keeps its port until it has ended.
kill_and_wait() {
  kill -9 "$@" 2>/dev/null || true
  wait "$@" 2>/dev/null || true
}
start_server() {
  start server "$@"
  until_has 'Server is ready' server.log
}
# If tests run as root, workers do too, and need the option for that.
root=()
[ "$(id -u)" -eq 0 ] && root=(--allow-root)
free_port() { echo $((20000 + (RANDOM * 32768 + RANDOM) % 20000)); }

expect 0 model squeezenet1_1 -o m.onnx
port=$(free_port)
url=nats://127.0.0.1:$port
start_server $server -a 127.0.0.1 -p "$port" -js -sd "$work/store"
server_pid=$last

# A remote broker needs TLS and keys, or an explicit option; work as root needs an option too.
for command in "worker --made-up 0.01" "tune m.onnx#1 --records r.db --trials 1"; do
  for elsewhere in nats://192.0.2.1:4222 tls://192.0.2.1:4222 "nats://127.0.0.1@192.0.2.1:4222" "$url,nats://192.0.2.1:4222" \
    nats://127.0.0.1.example.org:4222; do
    # shellcheck disable=SC2086 # words of a command
    expect 2 $command --fleet "$elsewhere"
    has 'is not on this machine and has n' err
    has '--insecure' err
  done
done
expect 1 worker --made-up 0.01 --insecure --fleet nats://192.0.2.1:1
has 'INSECURE: nats://192.0.2.1:1 has neither TLS nor keys' err
if [ "$(id -u)" -eq 0 ]; then
  expect 2 worker --fleet "$url"
  has '--allow-root' err
fi

# A fake device: the whole path without measurements.
expect 1 tune m.onnx#1 --fleet nats://127.0.0.1:1 --records r.db --trials 8
has 'no connection' err
start worker1 "$tilewright" worker --fleet "$url" --name w1 --made-up 0.01 --devices 2
start worker2 "$tilewright" worker --fleet "$url" --name w2 --made-up 0.01
until_has '2 devices of class null-' worker1.log
expect 0 tune m.onnx#1 --fleet "$url" --records fake.db --trials 60 --strategy random --target llvm --json
matches '"trials":60' out
has '"foreign":0' out
[ "$(sqlite3 fake.db 'SELECT count(*) FROM trial WHERE outcome = 0 AND attempt = 0')" -eq 60 ] || fail "not 60 trials"
expect 0 fleet status --fleet "$url" --json --seconds 1
[ "$(grep -o '"name":"w[12].d' out | wc -l)" -eq 3 ] || fail "not three devices: $(cat out)"
expect 0 fleet drain w2.d0 --fleet "$url"
until_has 'received the command to drain' worker2.log
expect 2 fleet quarantine w9.d0 --fleet "$url"
has "'w9.d0' did not answer within" err
expect 2 fleet cancel alice.j --fleet "$url"
has "'alice.j' did not answer within" err
# A worker that does not answer in time still executes the command later.
start slow "$tilewright" worker --fleet "$url" --name slow --made-up 0.01
until_has 'class null-' slow.log
kill -STOP "$last"
expect 2 fleet quarantine slow.d0 --fleet "$url"
kill -CONT "$last"
until_has 'received the command to quarantine' slow.log
expect 0 fleet drain slow.d0 --fleet "$url"
until_has 'received the command to drain' slow.log

# A deadline ends the search early enough for the races, and must be in the future.
expect 2 tune m.onnx#1 --fleet "$url" --records fake.db --deadline 2020-01-01T00:00:00Z
has 'it has passed' err
expect 0 tune m.onnx#3 --fleet "$url" --records deadline.db --deadline 2s --strategy random --target llvm --json
has '"finish":"deadline"' out
[ "$(sqlite3 deadline.db 'SELECT count(*) FROM best')" -eq 1 ] || fail "no winner by the deadline"

# Workers, the broker and the tuner are killed: the job gives the same result.
start tuner "$tilewright" tune m.onnx#2 --fleet "$url" --records killed.db --trials 240 \
  --strategy random --target llvm
tuner_pid=$last
sleep 1
start worker3 "$tilewright" worker --fleet "$url" --name w3 --made-up 0.01
kill -9 "${processes[1]}"
sleep 0.5
kill_and_wait "$server_pid"
rm -rf store
start_server $server -a 127.0.0.1 -p "$port" -js -sd "$work/store"
sleep 0.5
kill -9 "$tuner_pid"
expect 0 tune m.onnx#2 --fleet "$url" --records killed.db --trials 240 --strategy random --target llvm --json
matches '"trials":240' out
expect 0 tune m.onnx#2 --fleet "$url" --records killed.db --trials 240 --strategy random --target llvm --json
expect 0 records check killed.db
[ "$(sqlite3 killed.db 'SELECT count(*) FROM trial WHERE attempt = 0')" -eq 240 ] || fail "not 240 trials"
doubled='SELECT count(*) FROM (SELECT 1 FROM trial WHERE attempt = 0 GROUP BY template, config_index HAVING count(*) > 1)'
[ "$(sqlite3 killed.db "$doubled")" -eq 0 ] || fail "configs were measured twice"

# Programs: a worker runs those that its own job files list; a tuner with other commands finds none.
cat >program.json <<'EOF'
{"space": "space.txt", "command": "./program.sh {n}", "records": "program.db", "trials": 6, "strategy": "random"}
EOF
cat >space.txt <<'EOF'
space slow
knob n = range(1, 6)
EOF
cat >program.sh <<'EOF'
#!/bin/sh
echo "$1" >>ran
echo "{\"seconds\": 0.0$1}"
EOF
chmod +x program.sh
cp program.sh other.sh
sed 's/program.sh/other.sh/; s/program.db/other.db/' program.json >other.json
start programs "$tilewright" worker "${root[@]}" --fleet "$url" --name p1 --program program.json
programs_pid=$last
until_has 'program open/slow-' programs.log
expect 0 tune --job program.json --fleet "$url" --json
matches '"trials":6' out
[ "$(sort -u ran | wc -l)" -eq 6 ] || fail "not 6 configs ran: $(cat ran)"
expect 0 query slow --records program.db --json
has '"n":1' out
expect 1 tune --job other.json --fleet "$url"
has 'no worker lists the program open/slow-' err
expect 2 worker "${root[@]}" --fleet "$url" --program program.json --measure
has 'not allowed with --program' err
expect 2 worker "${root[@]}" --fleet "$url" --program space.txt
kill_and_wait "$programs_pid"

# This machine measures kernels that a builder of the fleet compiled.
kill_and_wait "${processes[@]}"
processes=()
start_server $server -a 127.0.0.1 -p "$port" -js -sd "$work/store"
start runner "$tilewright" worker "${root[@]}" --fleet "$url" --name r1 --measure
until_has 'class cpu-' runner.log
expect 0 fleet status --fleet "$url" --seconds 1
has 'there is no builder' out
start waiting "$tilewright" tune m.onnx#1 --fleet "$url" --records r.db --trials 6 --json
until_has 'no builder is there' waiting.log
waiting_pid=$last
start builder "$tilewright" worker "${root[@]}" --fleet "$url" --name b1 --build
wait "$waiting_pid" || fail "the tune that waited: $(tail -n 3 waiting.log)"
matches '"trials":6' waiting.log
# The tuner rebuilt the builder's kernels to the same bytes.
matches '"rebuilt":[1-9]' waiting.log
has '"unconfirmed":0' waiting.log
expect 0 query m.onnx#1 --records r.db
has 'hit' out
expect 0 records list r.db --json
has '"verified":true' out

# Keys and certificates, by role.
kill -9 "${processes[@]}" 2>/dev/null || true
processes=()
port=$(free_port)
expect 0 fleet up lab --host localhost --port "$port" --write-only
expect 0 fleet keys add alice --folder lab --role tuner --into alice
expect 0 fleet keys add w1 --folder lab --role worker --into w1
expect 2 fleet keys add w1 --folder lab --role worker --into w1
has 'is taken' err
has 'listen: "127.0.0.1:'"$port"'"' lab/nats-server.conf
start_server "$tilewright" fleet up lab
# In a cluster, each server receives its own name.
expect 0 fleet up three --host n1.lab,n2.lab,10.0.0.3 --port "$port" --write-only
has 'tls://n1.lab:'"$port"',tls://n2.lab:'"$port"',tls://10.0.0.3:' err
has 'listen: "0.0.0.0:'"$port"'"' three/nats-server.conf
has "routes: [\"tls://n1.lab:$((port + 2000))\", " three/nats-server.conf
expect 2 fleet up three
has 'n1.lab, n2.lab, 10.0.0.3' err
expect 2 fleet up four --host 'n1.lab,' --write-only
expect 2 fleet up four --host n1.lab,n2.lab --port 64000 --write-only
has 'expected 1 to 63535' err
expect 1 fleet status --fleet nats://127.0.0.1:"$port" --seconds 1
start keyed "$tilewright" worker --fleet w1/w1.fleet --made-up 0.01
until_has 'class null-' keyed.log
expect 0 fleet status --fleet lab/admin.fleet --json --seconds 1
has '"name":"w1.d0"' out
class=$(grep -o 'null-[0-9a-f]*' out | head -n 1)
expect 0 fleet open "$class" --fleet lab/admin.fleet
expect 0 tune m.onnx#1 --fleet alice/alice.fleet --records keyed.db --trials 40 --strategy random --target llvm --json
matches '"trials":40' out
# The jobs of another tuner have separate queues.
expect 0 fleet keys add bob --folder lab --role tuner --into bob
expect 0 tune m.onnx#2 --fleet bob/bob.fleet --records keyed.db --trials 40 --strategy random --target llvm --json
matches '"trials":40' out
expect 1 fleet drain w1.d0 --fleet alice/alice.fleet
has 'ermissions' err
expect 0 fleet keys remove alice --folder lab
for _ in $(seq 50); do
  "$tilewright" fleet status --fleet alice/alice.fleet --seconds 0.5 >out 2>err || break
  sleep 0.1
done
has 'uthorization' err
echo "fleet_test: passed"
