#!/usr/bin/env bash
# Sets the machine up, builds, and runs every test: optimized, under AddressSanitizer and
# UndefinedBehaviorSanitizer, and what has threads of its own under ThreadSanitizer.
# Ends with one line "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.."

./scripts/setup.sh || exit 1

passed=0 failed=0 skipped=0
skipped_names=""

# run_tests FOLDER [CTEST_OPTION...]: adds the folder's results to the totals.
run_tests() {
  local folder=$1 report="$PWD/$1/junit.xml"
  shift
  rm -f "$report"
  (cd "$folder" && ctest --output-on-failure --output-junit "$report" --timeout 300 -j 2 "$@" |
    grep -vE '^ *(Start|[0-9]+/[0-9]+ .* Passed)|^ *$')
  local tests failures skips
  tests=$(grep -c '<testcase ' "$report")
  failures=$(grep -cE '<testcase .*status="fail"' "$report")
  skips=$(grep -cE '<testcase .*status="(notrun|disabled)"' "$report")
  [ "$tests" -gt 0 ] || failed=$((failed + 1)) # no report: ctest itself failed
  passed=$((passed + tests - failures - skips))
  failed=$((failed + failures))
  skipped=$((skipped + skips))
}

begin=$SECONDS
echo "== optimized build"
if ./scripts/build.sh build/release; then
  run_tests build/release
else
  failed=$((failed + 1))
fi

echo "== AddressSanitizer and UndefinedBehaviorSanitizer ($((SECONDS - begin)) s so far)"
if ./scripts/build.sh build/asan -DTILEWRIGHT_SANITIZE=address,undefined -DTILEWRIGHT_BENCH=OFF; then
  # Other people's shared libraries keep memory until the end; ours is checked for errors, not leaks.
  # LLVM gives its threads signal stacks of its own, which the sanitizer must not unmap.
  ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0 run_tests build/asan -LE slow
else
  failed=$((failed + 1))
fi

echo "== ThreadSanitizer ($((SECONDS - begin)) s so far)"
if ./scripts/build.sh build/tsan -DTILEWRIGHT_SANITIZE=thread -DTILEWRIGHT_BENCH=OFF -- \
  measure_tests search_tests runtime_tests capi_tests; then
  TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp" run_tests build/tsan -L 'measure|search|runtime|capi' -LE slow
else
  failed=$((failed + 1))
fi

echo "== done in $((SECONDS - begin)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
