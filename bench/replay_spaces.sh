#!/usr/bin/env bash
# Search strategies on measured spaces of other programs:
#   replay_spaces.sh TILEWRIGHT FOLDER JUDGE OUT [SEEDS [RECORD_SEEDS]]
# FOLDER has files KERNEL.DEVICE.T4.json.gz. JUDGE is t4_score.py, run by $PYTHON (default python3).
# OUT gets the runs and the judge's tables. What OUT has of a call that was stopped is not run again:
#   without  SEEDS runs (50) of each space without knowledge, as long as the judge's budget of the
#            space and a quarter more, at least 220 evaluations, at most $LONGEST (default 10000)
#   plain, records  RECORD_SEEDS runs (100) of 64 evaluations without knowledge, and with the records
#            of the kernel's other devices
# $STRATEGY is the strategy (default surrogate); $OTHERS a file of other tuners' runs, for the score.
set -euo pipefail
tilewright=$1 folder=$2 judge=$3 out=$4 seeds=${5:-50} record_seeds=${6:-100}
strategy=${STRATEGY:-surrogate}
python=${PYTHON:-python3}
mkdir -p "$out/without" "$out/plain" "$out/records"
spaces=("$folder"/*.T4.json.gz)
"$python" "$judge" --t4 "${spaces[@]}" --spaces >"$out/spaces.txt"

evaluations() { # evaluations NAME: the length of a run without knowledge
  awk -F'|' -v name="$1" -v most="${LONGEST:-10000}" '{ gsub(/ /, "", $2) } $2 == name {
    n = int($8 * 1.25); n = n < 220 ? 220 : n; print n < most ? n : most }' "$out/spaces.txt"
}
replay() { # replay KIND SPACE SEEDS EVALUATIONS OPTION…
  local name=${2##*/} kind=$1 space=$2 count=$3 length=$4
  name=${name%.T4.json.gz}
  shift 4
  [ -e "$out/$kind/$name.jsonl" ] && return
  "$tilewright" replay "$space" --strategy "$strategy" --seeds "$count" --evaluations "$length" "$@" \
    --runs "$out/$kind/$name.part" >"$out/$kind/$name.txt" </dev/null
  mv "$out/$kind/$name.part" "$out/$kind/$name.jsonl"
}

for space in "${spaces[@]}"; do
  name=${space##*/}
  others=()
  for other in "$folder/${name%%.*}".*.T4.json.gz; do
    [ "$other" = "$space" ] || others+=(--records "$other")
  done
  replay records "$space" "$record_seeds" 64 "${others[@]}"
  replay plain "$space" "$record_seeds" 64
done
# Short runs first, so that a call that is stopped leaves most spaces.
for space in "${spaces[@]}"; do
  name=${space##*/}
  printf '%s %s\n' "$(evaluations "${name%.T4.json.gz}")" "$space"
done | sort -n >"$out/lengths.txt"
while read -r length space; do
  replay without "$space" "$seeds" "$length"
done <"$out/lengths.txt"

# The score needs a budget that leaves something to search: at least 16 evaluations.
mapfile -t scored < <(awk -F'|' -v folder="$folder" \
  '$8 >= 16 { gsub(/ /, "", $2); print folder "/" $2 ".T4.json.gz" }' <(tail -n +3 "$out/spaces.txt"))
"$python" "$judge" --t4 "${spaces[@]}" --per-space --runs "$out"/without/*.jsonl \
  >"$out/judge_without.txt"
"$python" "$judge" --t4 "${spaces[@]}" --per-space --at 1,4,16,64 --runs "$out"/records/*.jsonl \
  >"$out/judge_records.txt"
"$python" "$judge" --t4 "${scored[@]}" --per-space --runs "$out"/without/*.jsonl \
  ${OTHERS:+"$OTHERS"} >"$out/judge_score.txt"
# Processor time for each evaluation, the last column, and mean Q(64) with records over that without.
grep -h . "$out"/without/*.txt "$out"/records/*.txt | awk '$1 ~ /\./ { print $1, $NF " ms" }' >"$out/milliseconds.txt"
"$python" - "$judge" "$out" "${spaces[@]}" >"$out/ratios.txt" <<'EOF2'
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("judge", sys.argv[1])
judge = importlib.util.module_from_spec(spec)
spec.loader.exec_module(judge)
for path in sys.argv[3:]:
    space, mean = judge.Space(path), {}
    for kind in ("plain", "records"):
        with open(f"{sys.argv[2]}/{kind}/{space.name}.jsonl") as lines:
            runs = [judge.distinct(space, json.loads(line)["configs"], kind) for line in lines]
        best = [judge.best_rank(space, run)[:64][-1] for run in runs]
        mean[kind] = sum(space.best / space.dist[int(r)] if r == r else 0 for r in best) / len(best)
    print(f"{space.name} {mean['records'] / mean['plain']:.3f}: mean Q(64) {mean['records']:.4f} with records,"
          f" {mean['plain']:.4f} without, {len(runs)} seeds")
EOF2
