#!/usr/bin/env bash
# results.sh FOLDER: what the tests of a build folder came to, after ctest wrote FOLDER/junit.xml and the
# parts of test programs wrote FOLDER/cases/ (tests/cases.sh). A line each, with tabs between:
#   failed   TEST  REASON
#   skipped  TEST  REASON
#   total    PASSED  FAILED  SKIPPED   (the last one)
# A case that a part should have run and said nothing about has failed.
set -uo pipefail
cd "$1" || exit 1

# Of ctest's report: status, name and, where there is one, the reason for a skip.
from_ctest() {
  awk '
    { sub(/^[ \t]*<system-out>/, "") }
    /<testcase / { name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
                   status = $0; sub(/.* status="/, "", status); sub(/".*/, "", status)
                   reason = ""; after = 0 }
    after { reason = $0; sub(/^ +/, "", reason) }
    { after = reason == "" && /: Skipped$/ }
    reason == "" && /^[^<]*(needs|missing|no such)/ { reason = $0 }
    /<\/testcase>/ { print status "\t" name "\t" reason }' junit.xml
}

passed=0 failed=0 skipped=0
while IFS=$'\t' read -r status name reason; do
  if [[ $name =~ _tests_[0-9]+_of_[0-9]+$ ]]; then
    if [ ! -e "cases/$name" ]; then # nothing of the part has run
      p=0 f=1 s=0
      printf 'failed\t%s\tit has no results (%s)\n' "$name" "$status"
    else
      counts=$(awk -F '\t' -v part="$name" -v status="$status" '
        $1 == "planned" { planned = $2 }
        $1 == "passed" || $1 == "failed" || $1 == "skipped" { n[$1]++ }
        $1 == "failed" || $1 == "skipped" { print $1 "\t" $3 "\t" ($4 == "" && $1 == "skipped" ? "no reason given" : $4) >"/dev/stderr" }
        $1 == "ended" { ended = 1 }
        END {
          missing = planned - n["passed"] - n["failed"] - n["skipped"]
          if (missing < 1 && (!ended || (status != "run" && n["failed"] == 0))) missing = 1
          if (missing > 0) {
            n["failed"] += missing
            print "failed\t" part "\t" missing " without a result (" status ")" >"/dev/stderr"
          }
          print n["passed"] + 0, n["failed"] + 0, n["skipped"] + 0
        }' "cases/$name" 2>&3)
      read -r p f s <<<"$counts"
    fi
  else
    p=0 f=0 s=0
    case $status in
      run) p=1 ;;
      notrun | disabled)
        s=1
        printf 'skipped\t%s\t%s\n' "$name" "${reason:-no reason given}"
        ;;
      *)
        f=1
        printf 'failed\t%s\t\n' "$name"
        ;;
    esac
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done 3>&1 < <(from_ctest)
# No report, or an empty one: ctest itself failed.
[ $((passed + failed + skipped)) -gt 0 ] || { failed=1 && printf 'failed\tctest\tno results\n'; }
printf 'total\t%d\t%d\t%d\n' "$passed" "$failed" "$skipped"
