#!/usr/bin/env bash
# fuzz_wire.sh FUZZER [MINUTES [SEED]]: fuzzes each message type of a fleet for MINUTES (30), all at
# the same time and at the lowest priority. FUZZER is tests/fuzz/fleet_fuzz of a build with
# -DTILEWRIGHT_SANITIZE=address,undefined. Each process mutates one message of
# tests/fuzz/corpus/fleet, without feedback. With feedback, by clang: scripts/fuzz.sh SECONDS fleet.
# Prints the cases and processor seconds of each, and fails if one has a finding.
set -euo pipefail

fuzzer=$(realpath "$1") minutes=${2:-30} seed=${3:-1}
corpus=$(realpath "$(dirname "$0")/../tests/fuzz/corpus/fleet")
work=$(mktemp -d)
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
pids=()
names=()
for message in "$corpus"/*.json; do
  name=$(basename "$message" .json)
  mkdir "$work/$name"
  cp "$message" "$work/$name"
  (
    TIMEFORMAT='%U %S'
    time nice -n 19 "$fuzzer" "$work/$name" $((60 * minutes)) "$seed" >"$work/$name.log" 2>&1
  ) 2>"$work/$name.time" &
  pids+=($!)
  names+=("$name")
done
found=0
for i in "${!pids[@]}"; do
  name=${names[$i]}
  if wait "${pids[$i]}"; then
    echo "$name: $minutes minutes, $(awk '{print $1 + $2}' "$work/$name.time") s of processor, $(tail -n 1 "$work/$name.log")"
  else
    echo "$name: FOUND: $(tail -n 20 "$work/$name.log")"
    found=1
  fi
done
exit $found
