#!/usr/bin/env bash
# memory_test.sh TILEWRIGHT [TRIALS]: resident size of the supervisor over a long job. Prints a
# sample every 10 s, then the slope (least squares, second half of the run) per 10,000 trials and
# the peak.
set -uo pipefail

tilewright=$1
trials=${2:-10000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tilewright" model squeezenet1_1 -o "$work/model.onnx" || exit 1
db=$work/records.db
# No early stop: runs all requested trials.
cat >"$work/job.json" <<END
{"graph": "$work/model.onnx", "records": "$db", "trials": $trials, "early_stop_trials": 0}
END
"$tilewright" tune --job "$work/job.json" >/dev/null 2>&1 &
job=$!
while kill -0 "$job" 2>/dev/null; do
  sleep 10
  rss=$(awk '/VmRSS/ { print $2 }' "/proc/$job/status" 2>/dev/null) || break
  [ -n "$rss" ] || break
  done=$(sqlite3 "file:$db?mode=ro" 'SELECT count(*) FROM trial' 2>/dev/null || echo 0)
  echo "$done $rss" | tee -a "$work/samples" >&2
done
wait "$job"
awk '
  { n[NR] = $1; r[NR] = $2; if ($2 > peak) peak = $2 }
  END {
    for (i = int(NR / 2) + 1; i <= NR; ++i) { k++; sx += n[i]; sy += r[i]; sxx += n[i] * n[i]; sxy += n[i] * r[i] }
    d = k * sxx - sx * sx
    slope = d > 0 ? (k * sxy - sx * sy) / d : 0
    printf "%d trials: slope %.2f MB per 10,000 trials (second half), peak %.0f MB\n", n[NR], slope * 10000 / 1024, peak / 1024
  }' "$work/samples"
