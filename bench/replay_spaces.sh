#!/bin/sh
# Search strategies on measured spaces of other programs:
#   replay_spaces.sh TILEWRIGHT FOLDER JUDGE OUT [SEEDS [EVALUATIONS]]
# FOLDER has files KERNEL.DEVICE.T4.json.gz. JUDGE is t4_score.py, run by $PYTHON (default python3).
# OUT gets the runs and the judge's tables: without knowledge, and for each space with the records of
# the kernel's other devices.
set -eu
tilewright=$1 folder=$2 judge=$3 out=$4 seeds=${5:-50} evaluations=${6:-400}
mkdir -p "$out"
"$tilewright" replay "$folder"/*.T4.json.gz --strategy surrogate --strategy random --seeds "$seeds" \
  --evaluations "$evaluations" --runs "$out/without.jsonl" | tee "$out/without.txt"
: > "$out/records.jsonl"
: > "$out/records.txt"
for space in "$folder"/*.T4.json.gz; do
  name=${space##*/}
  set --
  for other in "$folder/${name%%.*}".*.T4.json.gz; do
    [ "$other" = "$space" ] || set -- "$@" --records "$other"
  done
  "$tilewright" replay "$space" --strategy surrogate --seeds "$seeds" --evaluations 64 "$@" \
    --runs "$out/one.jsonl" >> "$out/records.txt"
  cat "$out/one.jsonl" >> "$out/records.jsonl"
done
rm "$out/one.jsonl"
"${PYTHON:-python3}" "$judge" --t4 "$folder"/*.T4.json.gz --runs "$out/without.jsonl" --per-space \
  > "$out/judge_without.txt"
"${PYTHON:-python3}" "$judge" --t4 "$folder"/*.T4.json.gz --runs "$out/records.jsonl" --per-space \
  --at 1,4,16,64 > "$out/judge_records.txt"
