#!/usr/bin/env bash
# rare_spaces.sh TILEWRIGHT [RUNS]: the time of the first proposal in spaces of 10^9 combinations and more, of which conditions of
# several shapes allow one in ten thousand: from the start of `tune` with strategy auto to the start of the user's command,
# which contains reading the space, counting its configs and opening a new store. Prints the least and the median of RUNS
# (5) in milliseconds, beside that of a space of one parameter.
set -euo pipefail
tilewright=$(realpath "$1")
runs=${2:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

space() { # space NAME PARAMETERS VALUES CONDITION…
  local name=$1 parameters=$2 values=$3 condition letter comma=
  shift 3
  {
    printf '{"General": {"BenchmarkName": "%s"}, "ConfigurationSpace": {"TuningParameters": [' "$name"
    for letter in $parameters; do
      printf '%s{"Name": "%s", "Type": "int", "Values": "%s"}' "$comma" "$letter" "$values"
      comma=,
    done
    printf '], "Conditions": ['
    comma=
    for condition in "$@"; do
      printf '%s{"Expression": "%s"}' "$comma" "$condition"
      comma=,
    done
    printf ']}}'
  } >"$name.json"
}
to32='[i for i in range(1, 33)]'
space one a '[1, 2]' 'a > 0'
space sum 'a b c d e f g h i' '[i for i in range(10)]' 'a + b + c + d + e + f + g + h + i == 11'
space products 'a b c d e f' "$to32" 'a * b * c == 256' 'd * e * f <= 500'
space divisors 'a b c d e f' "$to32" 'b % a == 0' 'c % b == 0' 'e % d == 0' 'f % e == 0'
space chain 'a b c d e f' "$to32" 'a < b < c < d < e < f' 'f - a <= 18'
space remainder 'a b c d e f' "$to32" '(37 * a + 101 * b + 211 * c + 307 * d + 401 * e + 503 * f) % 9973 == 0'

cat >command.sh <<'EOF2'
#!/bin/sh
[ -e began ] || date +%s%N >began
echo '{"seconds": 1}'
EOF2
chmod +x command.sh
names=(one sum products divisors chain remainder)
for ((run = 1; run <= runs; ++run)); do
  for name in "${names[@]}"; do
    rm -f began
    begin=$(date +%s%N)
    "$tilewright" tune --space "$name.json" --command ./command.sh --records "$name.$run.db" --trials 1 --quiet >out.txt
    echo $((($(cat began) - begin) / 100000)) >>"$name.times"
  done
done
for name in "${names[@]}"; do
  sort -n "$name.times" | awk -v name="$name" '{ t[NR] = $1 / 10 }
    END { printf "%-10s least %.1f ms, median %.1f ms\n", name, t[1], t[int((NR + 1) / 2)] }'
done
