#!/usr/bin/env bash
# counting_test.sh PROGRAM SOURCE: checks the counts of scripts/results.sh after ctest ran PROGRAM
# in parts. The cases of PROGRAM end in every possible way: each is counted once and listed with its
# outcome.
set -euo pipefail
program=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

part() { # part NAME PART PARTS FILTER [ENVIRONMENT]
  echo "add_test($1_tests_$2_of_$3 $source/tests/cases.sh $program $2 $3 $work/cases/$1_tests_$2_of_$3 $4)"
  echo "set_tests_properties($1_tests_$2_of_$3 PROPERTIES ENVIRONMENT \"CASE_TIMEOUT=2;${5:-}\")"
}
count() { # count: runs ctest, and writes the sorted output of results.sh to `results`
  rm -rf cases junit.xml
  ctest -j 2 --output-junit "$work/junit.xml" >log 2>&1 || true
  "$source/scripts/results.sh" "$work" | LC_ALL=C sort >results
}
expect() { # expect: compares standard input with the file results
  diff - results >difference || fail "$(cat difference log)"
}

# The same result in one part and in two.
expected=$(printf '%s\t%s\t%s\n' failed All/Values.AreNotTwo/2 "" \
  failed MadeUp.EndsAsIfAllWereWell "ended with exit code 0" \
  failed MadeUp.EndsByASignal "ended by signal 9 (KILL)" failed MadeUp.EndsWithinALine "ended with exit code 3" \
  failed MadeUp.Fails "" failed MadeUp.NeverEnds "took longer than 2 s" skipped MadeUp.IsSkipped "needs a GPU")
total() { printf 'total\t%d\t%d\t%d\n' "$@"; }
part all 1 1 '*' >CTestTestfile.cmake
count
{ echo "$expected" && total 9 6 1; } | expect
{ part all 1 2 '*' && part all 2 2 '*'; } >CTestTestfile.cmake
count
{ echo "$expected" && total 9 6 1; } | expect

# Of each part, the cases of some patterns apart from the others.
{ for n in 1 2; do
  part with $n 2 '* only MadeUp.*:*/2' && part without $n 2 '* without MadeUp.*:*/2'
done; } >CTestTestfile.cmake
count
{ echo "$expected" && total 9 6 1; } | expect

# A filter, and more parts than cases.
{ part few 1 3 AtTheEnd.* && part few 2 3 AtTheEnd.* && part few 3 3 AtTheEnd.*; } >CTestTestfile.cmake
count
total 2 0 0 | expect

# Cases that a run leaves out are not counted, beside those that the filter leaves out.
{ part rest 1 1 '*' 'CASES_WITHOUT=MadeUp.*:All/*' && part more 1 1 '-MadeUp.*:All/*' CASES_WITHOUT=AtTheEnd.First
} >CTestTestfile.cmake
count
total 3 0 0 | expect

# Programs that fail after all cases have passed, before the first case, and before they can list
# any.
{ part end 1 1 AtTheEnd.* MADE_UP_END=1 && part none 1 1 AtTheEnd.* MADE_UP_NONE=1 &&
  part begin 1 1 AtTheEnd.* MADE_UP_BEGIN=1; } >CTestTestfile.cmake
count
{ printf 'failed\t%s\t%s\n' AtTheEnd.First "the program ended with exit code 7 before it" \
  AtTheEnd.Last "the program ended with exit code 7 before it" \
  AtTheEnd.Last "the program ended with exit code 9 after it" \
  begin_tests_1_of_1 "it has no results (fail)" && total 1 4 0; } | expect

# For a part that is killed, the unreported cases count as failed; other tests count as one.
{ part slow 1 1 'MadeUp.Passes:MadeUp.NeverEnds:AtTheEnd.*' CASE_TIMEOUT=60
  echo 'set_tests_properties(slow_tests_1_of_1 PROPERTIES TIMEOUT 2)'
  echo 'add_test(good true)'
  echo 'add_test(bad false)'
  echo 'add_test(absent sh -c "echo needs a GPU; exit 77")'
  echo 'set_tests_properties(absent PROPERTIES SKIP_RETURN_CODE 77)'; } >CTestTestfile.cmake
count
{ printf 'failed\t%s\t%s\n' bad "" slow_tests_1_of_1 "3 without a result (fail)" &&
  printf 'skipped\tabsent\tneeds a GPU\n' && total 2 4 1; } | expect

# No test at all is a failure.
: >CTestTestfile.cmake
count
{ printf 'failed\tctest\tno results\n' && total 0 1 0; } | expect
echo "counting: as it is"
