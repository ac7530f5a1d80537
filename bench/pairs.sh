#!/usr/bin/env bash
# pairs.sh BEFORE AFTER [MODEL...]: measures whether a change costs time. BEFORE and AFTER are build
# directories (python_free_cli/tilewright, bench/build_bench); the script builds nothing. Measures
# in pairs, one side after the other, alternating the first side:
#   build    processor milliseconds to generate and build one candidate, mean of a fixed set
#   (build_bench)
#   compile  processor seconds of `compile` on one thread, including its checks
#   run      seconds of one run of the compiled network, the minimum of a run of `bench`, on THREADS
#   trials   wall seconds of a search of TRIALS trials (the inverse of trials per second)
# Prints after / before: for each network the geometric mean of its pairs with the minimum and the
# maximum, and the geometric mean of all networks. Above 1: slower. Both programs compile with the
# records of one store, which BEFORE creates by TRIALS trials on each network (0: default configs).
# With TUNE_AFTER=90s, BEFORE compiles its default configs, and AFTER the results of a search of
# that duration: the benefit of tuning over an older version's defaults.
# MODEL: files in addition to the networks of the README.
# Environment: PAIRS (10), WHAT ("build compile run trials"), TRIALS (100), SECONDS_OF_RUN (1),
# NETWORKS, THREADS (1), CPU (the core to which all except the search is pinned: 0; with several
# threads, the first THREADS cores), LIMIT (1.02).
# Exit code 1 if a mean over all networks is above LIMIT, 2 on a failure.
set -uo pipefail

[ $# -ge 2 ] || { sed -n '2,/^set/{/^#/p}' "$0" >&2; exit 2; }
declare -A folder=([before]=$(realpath "$1") [after]=$(realpath "$2"))
shift 2
pairs=${PAIRS:-10} what=${WHAT:-build compile run trials} threads=${THREADS:-1}
tune_after=${TUNE_AFTER:-}
trials=${TRIALS:-$([ -n "$tune_after" ] && echo 0 || echo 100)}
cpu=${CPU:-$([ "$threads" -eq 1 ] && echo 0 || echo "0-$((threads - 1))")}
networks=${NETWORKS-resnet18_v1 resnet18_v1:--int8 resnet50_v1 mobilenet_v2 mobilenet_v2:--int8 squeezenet1_1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/none

fail() {
  echo "pairs.sh: $*" >&2
  exit 2
}
program() { echo "${folder[$1]}/python_free_cli/tilewright"; }
wants() { [[ " $what " == *" $1 "* ]]; }
for side in before after; do
  [ -x "$(program $side)" ] || fail "no program $(program $side)"
done

models=()
for network in $networks; do
  name=${network%%:*} flags=()
  [ "$network" = "$name" ] || flags=("${network#*:}")
  file=$work/$name${flags[*]:-}.onnx
  "$(program before)" model "$name" "${flags[@]}" -o "$file" >/dev/null || fail "no model $network"
  models+=("$file")
done
for model in "$@"; do
  [ -r "$model" ] || fail "cannot read $model"
  models+=("$(realpath "$model")")
done

# Each of these prints one number for SIDE and MODEL.
measure_build() {
  local TIMEFORMAT='%U %S'
  { time taskset -c "$cpu" "${folder[$1]}/bench/build_bench" --benchmark_format=json \
    >"$work/log" 2>/dev/null; } 2>"$work/time" || return
  awk -F'[:,]' '/"candidates"/ { print $2 + 0; exit }' "$work/log" | cat - "$work/time" |
    awk 'NR == 1 { candidates = $1 } END { if (candidates > 0) print 1e3 * ($1 + $2) / candidates }'
}
measure_compile() {
  local TIMEFORMAT='%U %S' store=()
  [ ! -f "$work/$1.db" ] || store=(--records "$work/$1.db")
  { time taskset -c "$cpu" "$(program "$1")" compile "$2" "${store[@]}" --no-packages --model none \
    --threads "$threads" \
    --build-threads 1 -o "$work/$1.so" >"$work/log" 2>&1; } 2>"$work/time" || return
  tail -n 1 "$work/time" | awk '{ print $1 + $2 }'
}
measure_run() {
  taskset -c "$cpu" "$(program "$1")" bench "$work/$1.so" --threads "$threads" \
    --seconds "${SECONDS_OF_RUN:-1}" --json 2>/dev/null |
    grep -oE '"least_seconds": ?[0-9.e+-]+' | head -n 1 | grep -oE '[0-9.e+-]+$'
}
measure_trials() {
  local TIMEFORMAT='%R'
  rm -f "$work/trials.db"*
  { time "$(program "$1")" tune "$2" --records "$work/trials.db" --trials "$trials" \
    >"$work/log" 2>&1; } 2>"$work/time" || return
  tail -n 1 "$work/time"
}

# pair KIND MODEL ROUND: one line "KIND NAME before after".
pair() {
  local sides=(before after) side
  declare -A value
  [ $(($3 % 2)) -eq 0 ] || sides=(after before)
  for side in "${sides[@]}"; do
    value[$side]=$("measure_$1" "$side" "$2")
    [ -n "${value[$side]}" ] || fail "$1 of $2 fails $side the change: $(tail -n 3 "$work/log" 2>/dev/null)"
  done
  local name=all
  [ -z "$2" ] || name=$(basename "$2" .onnx)
  echo "$1 $name ${value[before]} ${value[after]}" >>"$work/pairs"
}

for model in "${models[@]}"; do
  if [ "$trials" -gt 0 ] && { wants compile || wants run; }; then
    "$(program before)" tune "$model" --records "$work/made.db" --trials "$trials" >"$work/log" 2>&1 ||
      fail "tuning $model: $(tail -n 3 "$work/log")"
  fi
  # Opening may upgrade a store: each side has a copy.
  for side in before after; do
    [ ! -f "$work/made.db" ] || cp "$work/made.db" "$work/$side.db"
  done
  if [ -n "$tune_after" ]; then
    "$(program after)" tune "$model" --records "$work/after.db" --budget "$tune_after" --threads "$threads" \
      >"$work/log" 2>&1 || fail "tuning $model: $(tail -n 3 "$work/log")"
  fi
  if wants run && ! wants compile; then
    for side in before after; do
      [ -n "$(measure_compile $side "$model")" ] || fail "$(tail -n 3 "$work/log")"
    done
  fi
  for round in $(seq "$pairs"); do
    for kind in compile run; do
      if wants $kind; then pair $kind "$model" "$round"; fi
    done
  done
done
if wants build; then
  for round in $(seq "$pairs"); do pair build "" "$round"; done
fi
if wants trials; then
  for round in $(seq "$pairs"); do pair trials "${models[0]}" "$round"; done
fi

awk -v limit="${LIMIT:-1.02}" '
  {
    key = $1 " " $2; ratio = $4 / $3
    if (!(key in pairs)) { keys[++count] = key; least[key] = greatest[key] = ratio }
    pairs[key]++; sum[key] += log(ratio); before[key] += log($3); after[key] += log($4)
    if (ratio < least[key]) least[key] = ratio
    if (ratio > greatest[key]) greatest[key] = ratio
  }
  END {
    printf "%-8s %-24s %10s %10s %7s %7s %7s\n", "", "", "before", "after", "ratio", "least", "most"
    for (i = 1; i <= count; ++i) {
      key = keys[i]; split(key, part, " "); n = pairs[key]; mean = sum[key] / n
      printf "%-8s %-24s %10.4g %10.4g %7.3f %7.3f %7.3f\n", part[1], part[2],
        exp(before[key] / n), exp(after[key] / n), exp(mean), least[key], greatest[key]
      if (!(part[1] in networks)) kinds[++kind_count] = part[1]
      networks[part[1]]++; total[part[1]] += mean
    }
    for (i = 1; i <= kind_count; ++i) {
      mean = exp(total[kinds[i]] / networks[kinds[i]])
      printf "%-8s geometric mean %.3f%s\n", kinds[i], mean, (mean > limit ? "  above " limit : "")
      if (mean > limit) over = 1
    }
    exit over
  }' "$work/pairs"
