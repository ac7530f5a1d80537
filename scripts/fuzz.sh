#!/usr/bin/env bash
# fuzz.sh [SECONDS] [NAME...]: builds the libFuzzer targets and runs each for SECONDS (default 600),
# starting from its corpus. Exit code 1 if one found something; the input is left in build/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
shift || true
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  mapfile -t names < <(cd tests/fuzz && printf '%s\n' *_fuzz.cc | sed 's/_fuzz\.cc$//')
fi

./scripts/setup.sh --with-fuzzers
targets=()
for name in "${names[@]}"; do targets+=("${name}_fuzz"); done
./scripts/build.sh build/fuzz -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 \
  -DTILEWRIGHT_FUZZ=ON -DTILEWRIGHT_SANITIZE=address,undefined -DTILEWRIGHT_BENCH=OFF -- "${targets[@]}"

found=0
for name in "${names[@]}"; do
  mkdir -p "build/fuzz/corpus/$name"
  echo "== $name, $seconds s"
  (cd build/fuzz && ASAN_OPTIONS=detect_leaks=0 "tests/fuzz/${name}_fuzz" \
    -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 \
    "corpus/$name" "../../tests/fuzz/corpus/$name" 2>&1 |
    grep -E 'ERROR|SUMMARY|stat::number_of_executed_units|stat::peak_rss_mb|Test unit written') || true
  ls build/fuzz/crash-* build/fuzz/timeout-* build/fuzz/oom-* 2>/dev/null && found=1
done
exit $found
