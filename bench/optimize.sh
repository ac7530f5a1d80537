#!/usr/bin/env bash
# optimize.sh BUILD [BOUND] [THREADS] [NETWORKS]: runs `tilewright optimize` on built-in networks with seeded weights and random
# inputs, and prints times as ratios to the float32 library of the same run (interleaved), with predicted and measured errors.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: optimize.sh BUILD [BOUND] [THREADS] [NETWORKS]" >&2; exit 2; }
tilewright=$(realpath "$1")/python_free_cli/tilewright
bound=${2:-sqnr>=30} threads=${3:-1} networks=${4:-squeezenet1_1 mobilenet_v2 resnet18_v1 bert_base_encoder}
keep=${OPTIMIZE_STORES:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data

field() { sed -E "s/.*\"$1\":([-0-9.e+]+).*/\1/;t;s/.*/-/" <<<"$2"; }
grep -m1 'model name' /proc/cpuinfo
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $threads thread(s), bound $bound, 16 random samples (4 calibrate, 4 search, 8 held out)"
echo
echo "| network | f32 / bf16 / int8 sites | time of float32's | +- | predicted | SQNR predicted | on search part | held out | all bf16 | all int8 | minutes |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for network in $networks; do
  layers=
  if [ "$network" = bert_base_encoder ]; then layers='--layers 2'; fi
  # shellcheck disable=SC2086
  "$tilewright" model "$network" $layers -o "$work/$network.onnx" >/dev/null
  "$tilewright" inspect "$work/$network.onnx" --json >"$work/inspect.json"
  shape=$(sed -E 's/.*"inputs":\[\{[^}]*"shape":\[([0-9,]+)\].*/\1/' "$work/inspect.json")
  # An array of 16 samples: a run of a network that multiplies its input.
  all=$((16 * ${shape%%,*})),${shape#*,}
  printf 'def @main(%%x: Tensor[(%s), float32]) { multiply(%%x, 1.5f) }\n' "$all" >"$work/samples.relay"
  "$tilewright" compile "$work/samples.relay" -o "$work/samples.so" >/dev/null 2>&1
  "$tilewright" run "$work/samples.so" --made-up random --output "$work/samples.npy" >/dev/null 2>&1
  store=${keep:+$keep/}$network.db
  [ -n "$keep" ] || store=$work/$store
  begun=$SECONDS
  out=$("$tilewright" optimize "$work/$network.onnx" --data "$work/samples.npy" --bound "$bound" --threads "$threads" \
    --records "$store" --no-packages --model none -o "$work/fast.so" --json 2>"$work/$network.log") || {
    echo "| $network | failed: $(tail -1 "$work/$network.log") |"
    continue
  }
  echo "$out" >"$work/$network.json"
  [ -z "$keep" ] || cp "$work/$network.json" "$work/$network.log" "$keep"
  # One combination a line, by time; the chosen one by its number.
  combinations=$(sed -E 's/.*"combinations":\[(.*)\],"predicted_front".*/\1/; s/\},\{"formats"/}\n{"formats"/g' <<<"$out")
  chosen=$(sed -n "$(($(field chosen "$out") + 1))p" <<<"$combinations")
  letters=$(sed -E 's/.*"formats":"([fbi]+)".*/\1/' <<<"$chosen")
  counts=
  for letter in f b i; do counts+="${counts:+ / }$(tr -cd $letter <<<"$letters" | wc -c)"; done
  uniform() { # of bfloat16 or int8 where a site can have it: the combination without the other
    local line
    line=$(grep -E "\"formats\":\"[f$1]*$1[f$1]*\"" <<<"$combinations" | awk -v l="$1" '{ n = gsub(l, l, $0); if (n > most) { most = n; best = $0 } } END { print best }')
    [ -n "$line" ] && echo "$(field time_ratio "$line") ($(sed -E 's/.*"search":\{"sqnr_db":([-0-9.e+]+|null).*/\1/' <<<"$line") dB)" || echo -
  }
  search=$(sed -E 's/.*"search":\{"sqnr_db":([-0-9.e+]+|null).*/\1/' <<<"$chosen")
  held=$(sed -E 's/.*"held_out":\{"sqnr_db":([-0-9.e+]+|null).*/\1/; s/.*"held_out":null.*/-/' <<<"$chosen")
  printf '| %s | %s | %.3f | %.3f | %.3f | %.4s | %.4s | %.4s | %s | %s | %.1f |\n' "$network" "$counts" \
    "$(field time_ratio "$chosen")" "$(field time_spread "$chosen")" "$(field '"predicted_time_ratio' "$chosen" 2>/dev/null || field predicted_time_ratio "$chosen")" \
    "$(field predicted_sqnr_db "$chosen")" "$search" "$held" "$(uniform b)" "$(uniform i)" \
    "$(awk -v s=$((SECONDS - begun)) 'BEGIN { print s / 60 }')"
done
