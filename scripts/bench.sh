#!/usr/bin/env bash
# bench.sh [FOLDER]: measures what can be measured again in a few minutes, and compares it with the last
# time on the same CPU: whole networks and their kernels, time to compile, build, score and search, and
# queries. Writes FOLDER/table.txt and table.json (default bench/results/<date>-<CPU>); docs/measured.md
# tells the form. Exit code 1 if something became slower by more than the noise.
#
# Everything is measured ROUNDS times (3), one after the other, so that a change of the machine's speed is
# seen as noise: the value is the median, the noise the range as a share of it.
# Slower is what grew by more than the noise of then and now together, and by 3 %.
# scripts/bench_all.sh (an hour) measures every number of the README, and those of other libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

bin=$PWD/${BUILD:-build/release}
if [ -z "${BUILD:-}" ]; then
  ./scripts/setup.sh
  ./scripts/build.sh build/release -- tilewright build_bench cost_model_bench reference_bench query_bench
fi
rounds=${ROUNDS:-3}
networks=${NETWORKS:-resnet18_v1 mobilenet_v2 squeezenet1_1 resnet18_v1--int8}
tilewright=$bin/python_free_cli/tilewright
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data XDG_CONFIG_HOME=$work/config # no records of this machine's user

"$tilewright" targets --json >"$work/targets.json"
sql() { sqlite3 -batch "$work/bench.db" "$@"; }
device=$(sql "SELECT json_extract(readfile('$work/targets.json'), '\$.device.model')")
mcpu=$(sql "SELECT json_extract(readfile('$work/targets.json'), '\$.native')" | sed -E "s/.*-mcpu=([a-z0-9-]+).*/\1/")
out=${1:-bench/results/$(date +%Y-%m-%d)-$mcpu}
cores=$(nproc)
load=$(cut -d' ' -f1 /proc/loadavg)  # before anything is measured

# sample GROUP NAME UNIT BETTER VALUE: one measured value; BETTER is less or more.
sample() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$round" "$5" >>"$work/samples.tsv"; }
# samples GROUP UNIT BETTER JSON QUERY: rows of name and value, asked of a file of JSON.
samples() {
  local name value
  sqlite3 -bail -batch -tabs :memory: "WITH file(text) AS (SELECT readfile('$4')) $5" >"$work/rows.tsv"
  while IFS=$'\t' read -r name value; do
    sample "$1" "$name" "$2" "$3" "$value"
  done <"$work/rows.tsv"
}
# seconds COMMAND...: how long it takes.
seconds() {
  local begin=$EPOCHREALTIME
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.6f", b - a }'
}

measure_networks() {
  local network json threads model
  for network in $networks; do
    model=$work/$network.onnx
    # shellcheck disable=SC2086 # words on purpose
    [ -e "$model" ] || "$tilewright" model ${network/--/ --} -o "$model" >/dev/null
    for threads in $([ "$cores" -gt 1 ] && echo 1 2 || echo 1); do
      sample "time to compile" "$network, $threads threads" s less \
        "$(seconds "$tilewright" compile "$model" --threads "$threads" --no-packages --verify none -o "$work/net.so")"
      json=$work/net.json
      "$tilewright" bench "$work/net.so" --seconds 1 --json >"$json"
      samples "networks" ms less "$json" \
        "SELECT '$network, $threads threads', 1e3 * json_extract(text, '\$.total_seconds') FROM file"
      [ "$threads" -gt 1 ] || samples "kernels of $network" us less "$json" "
        SELECT json_extract(value, '\$.value'), 1e6 * json_extract(value, '\$.seconds')
        FROM file, json_each(text, '\$.operators')"
    done
  done
}

# google_bench PROGRAM FILTER: its output as JSON.
google_bench() {
  taskset -c 0 "$bin/bench/$1" --benchmark_filter="$2" --benchmark_format=json >"$work/$1.json" 2>/dev/null
}
measure_parts() {
  google_bench build_bench .
  for part in median_ms codegen_ms link_ms; do
    samples "building a candidate" ms less "$work/build_bench.json" \
      "SELECT '$part', json_extract(text, '\$.benchmarks[0].$part') FROM file"
  done
  google_bench cost_model_bench 'Score|Predict|TrainFromStart/256'
  samples "cost model" us less "$work/cost_model_bench.json" "
    SELECT json_extract(value, '\$.name'), json_extract(value, '\$.real_time') *
      CASE json_extract(value, '\$.time_unit') WHEN 'ns' THEN 1e-3 WHEN 'us' THEN 1 ELSE 1e3 END
    FROM file, json_each(text, '\$.benchmarks')"
  google_bench reference_bench 'conv3x3|conv1x1|depthwise'
  samples "reference" us less "$work/reference_bench.json" "
    SELECT json_extract(value, '\$.name'), json_extract(value, '\$.real_time') * 1e-3
    FROM file, json_each(text, '\$.benchmarks')"
  "$bin/bench/query_bench" 100000 >"$work/query.txt" 2>/dev/null
  while IFS=$'\t' read -r name value; do
    sample "queries among 100,000 records, p50" "$name" us less "$value"
  done < <(sed -nE 's/^(.*[a-zC]) +p50 +([0-9.]+) us.*/\1\t\2/p' "$work/query.txt" | grep -v '8 threads')
  rm -f "$work/task.db"
  sample "search" "64 random trials of a 3x3 convolution" s less \
    "$(seconds "$tilewright" tune "$work/resnet18_v1.onnx#1" --strategy random --trials 64 --records "$work/task.db")"
}

: >"$work/samples.tsv"
[ -e "$work/resnet18_v1.onnx" ] || "$tilewright" model resnet18_v1 -o "$work/resnet18_v1.onnx" >/dev/null
for round in $(seq "$rounds"); do
  echo "round $round of $rounds" >&2
  measure_networks
  measure_parts
done

# The previous table of this CPU, here or in another folder.
last=""
for file in bench/results/*/table.json "$out/table.json"; do
  [ -e "$file" ] || continue
  read -r date same < <(sql -separator ' ' "SELECT json_extract(readfile('$file'), '\$.date'),
    json_extract(readfile('$file'), '\$.cpu') = '$device ($mcpu)'")
  if [ "$same" = 1 ] && [[ "$date" > "${last%% *}" ]]; then last="$date $file"; fi
done
before=${last#* }
# A file that is about to be replaced is still asked.
if [ -n "$before" ]; then cp "$before" "$work/before.json"; else echo '{"rows":[]}' >"$work/before.json"; fi

commit=$(git describe --always --dirty --abbrev=10 2>/dev/null || echo unknown)
mkdir -p "$out"
sql >/dev/null <<SQL
CREATE TABLE sample(part TEXT, name TEXT, unit TEXT, better TEXT, round INT, value REAL);
.mode tabs
.import $work/samples.tsv sample
CREATE TABLE now AS
  WITH ordered AS (SELECT *, rowid AS place,
      row_number() OVER (PARTITION BY part, name ORDER BY value) AS rank,
      count(*) OVER (PARTITION BY part, name) AS samples FROM sample)
  SELECT part, name, unit, better, min(place) AS place, samples,
    avg(CASE WHEN rank IN ((samples + 1) / 2, samples / 2 + 1) THEN value END) AS value,
    max(value) - min(value) AS spread
  FROM ordered GROUP BY part, name;
CREATE TABLE past AS
  SELECT json_extract(value, '\$.group') AS part, json_extract(value, '\$.name') AS name,
    json_extract(value, '\$.value') AS value, json_extract(value, '\$.noise') AS noise
  FROM json_each(readfile('$work/before.json'), '\$.rows');
CREATE TABLE compared AS
  SELECT now.*, now.spread / now.value AS noise, past.value AS before, now.value / past.value - 1 AS change,
    max(0.03, now.spread / now.value + past.noise) AS allowed, min(place) OVER (PARTITION BY part) AS first
  FROM now LEFT JOIN past USING (part, name) WHERE now.value > 0;
CREATE TABLE row AS
  SELECT *, row_number() OVER (ORDER BY first, place) AS line, CASE WHEN before IS NULL THEN 'new'
      WHEN (better = 'less' AND change > allowed) OR (better = 'more' AND change < -allowed) THEN 'slower'
      WHEN (better = 'less' AND change < -allowed) OR (better = 'more' AND change > allowed) THEN 'faster'
      ELSE 'same' END AS verdict
  FROM compared ORDER BY line;
SQL
gone=$(sql "SELECT json_group_array(past.part || ': ' || past.name) FROM past LEFT JOIN now USING (part, name) WHERE now.name IS NULL")
sql "SELECT json_object('schema', 1, 'cpu', '$device ($mcpu)', 'cores', $cores, 'date', '$(date -u +%Y-%m-%dT%H:%M:%SZ)',
  'commit', '$commit', 'version', '$("$tilewright" version --json | sed -E 's/.*"version":"([^"]*)".*/\1/')', 'rounds', $rounds, 'load', $load,
  'compared_with', $([ -n "$before" ] && echo "'$before'" || echo NULL),
  'compared_commit', json_extract(readfile('$work/before.json'), '\$.commit'),
  'slower', (SELECT count(*) FROM row WHERE verdict = 'slower'),
  'faster', (SELECT count(*) FROM row WHERE verdict = 'faster'), 'gone', json('$gone'),
  'rows', json_group_array(json_object('group', part, 'name', name, 'unit', unit, 'better', better,
    'value', round(value, 6), 'noise', round(noise, 4), 'before', before, 'change', round(change, 4),
    'verdict', verdict)))
  FROM (SELECT * FROM row ORDER BY line)" >"$work/table.json"

{
  echo "CPU $device ($mcpu), $cores cores; $(date -u +'%Y-%m-%d %H:%M UTC'); commit $commit; median of $rounds rounds; load before $load"
  if [ -n "$before" ]; then
    echo "compared with $before (commit $(sql "SELECT json_extract(readfile('$work/before.json'), '\$.commit')"))"
  else
    echo "nothing to compare with: the first table of this CPU"
  fi
  echo
  echo "became slower by more than the noise:"
  slower=$(sql "SELECT printf('  %s: %s: %.4g %s, was %.4g (%+.1f %%, noise %.1f %%)', part, name, value, unit, before,
    100 * change, 100 * allowed) FROM row WHERE verdict = 'slower' ORDER BY change DESC")
  echo "${slower:-  nothing}"
  sql "SELECT printf('%s%-44s %12.5g %-3s  noise %5.1f %%%s', CASE WHEN part <> ifnull(lag(part) OVER (ORDER BY line), '')
      THEN char(10) || part || char(10) ELSE '' END || '  ', name, value, unit, 100 * noise,
    CASE WHEN before IS NULL THEN '' ELSE printf('  was %12.5g  %+6.1f %%  %s', before, 100 * change,
      CASE verdict WHEN 'same' THEN '' ELSE verdict END) END) FROM row ORDER BY line"
} >"$work/table.txt"
mv "$work/table.json" "$work/table.txt" "$out/"
sed -n '1,/^$/p' "$out/table.txt"
sed -n '/^became slower/,/^$/p' "$out/table.txt"
echo "results in $out/table.txt and table.json"
[ "$(sql "SELECT count(*) FROM row WHERE verdict = 'slower'")" -eq 0 ]
