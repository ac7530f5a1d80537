#!/usr/bin/env bash
# tuning_gains.sh BUILD [TRIALS] [PICTURE.svg]: tunes every expression of docs/examples/expressions, and resnet18_v1, on this machine
# with one thread. Prints what tuning gained over the default config, largest first, and draws the largest gains.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: tuning_gains.sh BUILD [TRIALS] [PICTURE.svg]" >&2; exit 2; }
tilewright=$(realpath "$1")/python_free_cli/tilewright
trials=${2:-96} picture=${3:-}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data

# gain NAME FILE: a line with default and best microseconds of the whole file, and the gain.
gain() {
  "$tilewright" tune "$2" --records "$work/$1.db" --trials "$3" --json 2>/dev/null |
    sed -E 's/.*"default_network_seconds":([0-9.e+-]+),"best_network_seconds":([0-9.e+-]+).*/\1 \2/' |
    awk -v name="$1" '{ printf "%-22s %10.2f %10.2f %6.2f\n", name, 1e6 * $1, 1e6 * $2, $1 / $2 }'
}
"$tilewright" model resnet18_v1 -o "$work/resnet18.onnx" >/dev/null
{
  for file in docs/examples/expressions/*.tw; do gain "$(basename "$file" .tw)" "$file" "$trials"; done
  gain resnet18_v1 "$work/resnet18.onnx" "$((12 * trials))"
} | sort -k4,4 -rn >"$work/table"
grep -m1 'model name' /proc/cpuinfo
echo "$trials trials a task, 1 thread; microseconds"
printf '%-22s %10s %10s %6s\n' "" default tuned gain
cat "$work/table"
[ -n "$picture" ] || exit 0

{ head -n 6 "$work/table"; grep '^resnet18_v1 ' "$work/table"; } | awk '
  BEGIN {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"272\" font-family=\"sans-serif\" font-size=\"12\">"
    print "<rect width=\"640\" height=\"272\" fill=\"#ffffff\"/>"
    print "<text x=\"12\" y=\"20\" font-size=\"13\">Default config over tuned config, 1 thread (longer: tuning gains more)</text>"
  }
  NR == 1 { scale = 300 / $4 }
  {
    y = 44 + 30 * (NR - 1)
    printf "<text x=\"150\" y=\"%d\" text-anchor=\"end\">%s</text>\n", y + 13, $1
    printf "<rect x=\"160\" y=\"%d\" width=\"%d\" height=\"18\" fill=\"#3b6ea5\"/>\n", y, scale * $4
    printf "<text x=\"%d\" y=\"%d\">%.2fx</text>\n", 166 + scale * $4, y + 13, $4
    printf "<text x=\"628\" y=\"%d\" text-anchor=\"end\" fill=\"#555555\">%s to %s us</text>\n", y + 13, $2, $3
  }
  END { print "</svg>" }' >"$picture"
