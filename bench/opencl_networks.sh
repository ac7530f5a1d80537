#!/usr/bin/env bash
# opencl_networks.sh TILEWRIGHT [NETWORK]...: compiles built-in networks for OpenCL (default configs),
# compares each of their operators with the reference on the first device of this machine, and times
# them. Prints a table in Markdown. Exit code 1 if a network is wrong or does not run, 2 on bad usage.
# Environment: SECONDS_EACH limits the timing of each network (5). The driver's compiler is part of
# the first run: its caches are empty at first.
set -uo pipefail

[ $# -ge 1 ] || { sed -n '2,/^set/{/^#/p}' "$0" >&2; exit 2; }
tilewright=$(realpath "$1")
shift
[ -x "$tilewright" ] || { echo "opencl_networks.sh: no program $tilewright" >&2; exit 2; }
networks=("$@")
[ $# -gt 0 ] || networks=(squeezenet1_1 resnet18_v1 mobilenet_v2 bert_base_encoder)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export XDG_DATA_HOME=$work/data XDG_CACHE_HOME=$work/cache POCL_CACHE_DIR=$work/pocl

# timed FILE COMMAND...: runs it with its output in the file; leaves seconds and processor seconds.
timed() {
  local file=$1 TIMEFORMAT='%R %U %S'
  shift
  { time "$@" >"$file" 2>"$file.err"; } 2>"$work/time" || {
    cat "$file.err" "$file" >&2
    return 1
  }
  read -r wall user system < <(tail -n 1 "$work/time")
  cpu=$(awk "BEGIN { printf \"%.1f\", $user + $system }")
}

echo "$("$tilewright" targets | grep -i opencl | head -3)" | sed 's/^/    /'
echo
echo "| network | operators | equal to the reference | largest error | compile s | first run: wall s, processor s | one run |"
echo "|---|---|---|---|---|---|---|"
failed=0
for network in "${networks[@]}"; do
  "$tilewright" model "$network" -o "$network.onnx" >/dev/null || exit 2
  timed compile "$tilewright" compile "$network.onnx" --target opencl --no-packages -o "$network.so" || {
    failed=1
    continue
  }
  built=$wall
  timed first "$tilewright" run "$network.so" || { failed=1; continue; }
  first="$wall, $cpu"
  timed verify "$tilewright" verify "$network.onnx" "$network.so" || { failed=1; continue; }
  equal=$(grep -c '^ok' verify) all=$(grep -cE '^(ok|BAD|bad|wrong)' verify)
  error=$(awk '/^ok/ { for (i = 3; i < NF; ++i) if ($(i + 1) == "of" && $(i + 2) > 0) { e = $i / $(i + 2); if (e > m) m = e } } END { printf "%.1e", m }' verify)
  timed bench "$tilewright" bench "$network.so" --seconds "${SECONDS_EACH:-5}" || { failed=1; continue; }
  run=$(grep -oE '[0-9.]+ [a-z]+ per run \(fastest [^)]*\)' bench)
  echo "| $network | $all | $equal | $error of the RMS | $built | $first | $run |"
done
exit $failed
