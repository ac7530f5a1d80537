#!/usr/bin/env bash
# quick_tests.sh: builds build/release and runs the tests whose programs changed since they last
# passed. The linker decides what a change touches: a test program that comes out the same, byte for
# byte, needs no run. Slow tests are left out.
set -uo pipefail
cd "$(dirname "$0")/.."

./scripts/build.sh build/release -DTILEWRIGHT_TESTS_ONCE=OFF || exit 1
cd build/release
mkdir -p quick

# Files that the tests of a label run: their program, and for the label program the scripts, too.
programs_of() {
  case $1 in
    adding) echo python_free_cli/tilewright ../../tests/adding/* ../../docs/adding.md ;;
    program) echo tests/program_tests python_free_cli/tilewright ../../tests/program/*.sh ;;
    docs) echo tests/docs_tests python_free_cli/tilewright ../../README.md ../../docs/*.md ;;
    counting) echo tests/made_up_cases ../../tests/cases.sh ../../scripts/results.sh ../../tests/counting/*.sh ;;
    capi) echo tests/capi_tests src/capi/libtilewright.so ../../tests/capi/*.sh ;;
    packages) echo python_free_cli/tilewright python_free_cli/runner/tilewright-runner src/capi/libtilewright.so ../../packaging/* ../../scripts/package*.sh ../../tests/packages/*.sh ;;
    measure) echo tests/measure_tests tests/measure_test_worker python_free_cli/runner/tilewright-runner ;;
    *) echo "tests/${1}_tests" ;;
  esac
}

passed="" failed="" same=""
for label in $(ctest --print-labels | sed -n 's/^  //p' | grep -v '^slow$'); do
  # shellcheck disable=SC2046  # words on purpose
  sum=$(cat $(programs_of "$label") 2>/dev/null | sha256sum)
  if [ "$(cat "quick/$label" 2>/dev/null)" = "$sum" ]; then
    same+=" $label"
  elif ctest -L "^$label\$" -LE slow -j 2 --timeout 300 --output-on-failure >"quick/$label.log" 2>&1; then
    echo "$sum" >"quick/$label"
    passed+=" $label"
  else
    sed -n '/The following tests FAILED/,$p' "quick/$label.log"
    failed+=" $label"
  fi
done
echo "passed:${passed:- none}; as they were:${same:- none}; failed:${failed:- none} (build/release/quick/*.log)"
[ -z "$failed" ]
