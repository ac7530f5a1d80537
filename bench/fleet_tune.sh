#!/usr/bin/env bash
# fleet_tune.sh TILEWRIGHT STRATEGY TRIALS [SECONDS [TARGET]]: one `tune` with its store over a real
# broker, whose two devices are fake and reply at once, for TRIALS or SECONDS. Prints trials per
# second, the processor time of each process, and the memory growth of tuner and worker, fitted to
# samples of each second after the first fifth of the trials. Needs nats-server, sqlite3.
set -euo pipefail

tilewright=$(realpath "$1") strategy=$2 trials=$3 limit=${4:-3600} target=${5:-cuda -arch=sm_75}
. "$(dirname "$0")/fleet_common.sh"
run_broker
server=${pids[server]}
"$tilewright" worker --fleet "$url" --name w1 --made-up 0 --devices 2 >w1.log 2>&1 &
worker=$!
pids[w1]=$worker
"$tilewright" model resnet50_v1 -o m.onnx
echo '{"graph": "m.onnx", "early_stop_trials": 0}' >job.json
sleep 1
"$tilewright" tune --job job.json --fleet "$url" --records r.db --trials "$trials" --budget "${limit}s" --strategy "$strategy" --target "$target" --json >out 2>err &
tuner=$!
pids[tuner]=$tuner
seconds_of() { awk '{print ($14 + $15) / 100}' "/proc/$1/stat"; }
rss_of() { awk '/VmRSS/ {print $2}' "/proc/$1/status"; }
done_now=0
while sleep 1 && kill -0 $tuner 2>/dev/null; do
  done_now=$(done_trials r.db)
  echo "$(date +%s.%N) $done_now $(rss_of $tuner || echo 0) $(rss_of $worker) $(seconds_of $tuner || echo 0) $(seconds_of $worker) $(seconds_of $server)" >>samples
  [ "$done_now" -lt "$trials" ] || break
done
wait $tuner || true
awk -v strategy="$strategy" '
  $2 > 0 && $3 > 0 { n++; t[n] = $1; d[n] = $2; a[n] = $3; b[n] = $4; ct[n] = $5; cw[n] = $6; cs[n] = $7 }
  function slope(y, from,   i, sx, sy, sxx, sxy, m) {
    for (i = from; i <= n; i++) { m++; sx += d[i]; sy += y[i]; sxx += d[i] * d[i]; sxy += d[i] * y[i] }
    return m > 2 && m * sxx > sx * sx ? (m * sxy - sx * sy) / (m * sxx - sx * sx) * 10000 / 1024 : 0
  }
  END {
    if (n < 3) { print "too short"; exit 1 }
    from = 1
    while (d[from] < d[n] / 5) from++
    wall = t[n] - t[1]
    printf "%s: %d trials, %.0f trials/s over %.0f s; cores: tuner %.2f, worker %.2f, broker %.2f\n", strategy, d[n], (d[n] - d[1]) / wall, wall, (ct[n] - ct[1]) / wall, (cw[n] - cw[1]) / wall, (cs[n] - cs[1]) / wall
    printf "memory: tuner %.1f MB at the end, %.2f MB for 10,000 trials; worker %.1f MB, %.2f MB for 10,000\n", a[n] / 1024, slope(a, from), b[n] / 1024, slope(b, from)
  }' samples
grep -o '"finish_reason":"[^"]*"' out || tail -n 2 err

