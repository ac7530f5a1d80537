#!/usr/bin/env bash
# cases.sh PROGRAM PART PARTS REPORT [FILTER [without|only PATTERNS]]: runs every PARTS-th case of a
# GoogleTest program, beginning with the PART-th, in one process. FILTER: runs only cases that match this
# GoogleTest pattern. PATTERNS: shell patterns with colons between them; of the part's cases those that
# match one are left out, or are the only ones that run.
# CASES_WITHOUT, in the environment: further patterns, of cases that do not run.
# A case that ends the process, or takes longer than CASE_TIMEOUT seconds (300), has failed. The
# cases after it run in a new process. Prints the output of failed and skipped cases, and writes
# these lines to REPORT, separated by tabs:
#   planned  NUMBER                     the first line
#   passed|failed|skipped  MS  CASE  REASON
#   ended                               the last line: the report is complete
# Exit code 0: no case failed.
set -uo pipefail
program=$1 part=$2 parts=$3 report=$4 filter=${5:-*} choice=${6:-} patterns=${7:-}
limit=${CASE_TIMEOUT:-300}
if [ -n "${CASES_WITHOUT:-}" ]; then
  case $filter in
    *-*) filter+=:$CASES_WITHOUT ;;
    *) filter+=-$CASES_WITHOUT ;;
  esac
fi
mkdir -p "$(dirname "$report")"
rm -f "$report"

if ! listed=$("$program" --gtest_list_tests --gtest_filter="$filter" 2>&1 </dev/null); then
  printf '%s\n' "$listed"
  echo "$program: cannot list its cases"
  exit 1
fi
mapfile -t cases < <(awk -v part="$part" -v parts="$parts" '
  { sub(/ *# .*/, "") }
  /^[^ ]+\.$/ { suite = $0 }
  /^  [^ ]/ && suite != "" { if (n++ % parts == part - 1) print suite substr($0, 3) }' <<<"$listed")
if [ -n "$choice" ]; then
  chosen=()
  IFS=: read -ra patterns <<<"$patterns"
  for name in "${cases[@]}"; do
    matches=without
    for pattern in "${patterns[@]}"; do
      # shellcheck disable=SC2053  # a pattern on purpose
      [[ $name != $pattern ]] || matches=only
    done
    [ "$matches" != "$choice" ] || chosen+=("$name")
  done
  cases=(${chosen[@]+"${chosen[@]}"})
fi
printf 'planned\t%d\n' ${#cases[@]} >"$report"

failures=0
# result OUTCOME MS REASON: reports the running case. Prints output only if it did not pass.
result() {
  [ "$1" = passed ] || printf '%s\n' "${printed[@]}"
  [ "$1" != failed ] || failures=$((failures + 1))
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$current" "$3" >>"$report"
  last_of_run=$current
  current=""
}
milliseconds() { # milliseconds in "... (12 ms)"
  local number=${line##*\(}
  echo "${number%% *}"
}
reason() { # the line after "FILE:LINE: Skipped"
  local before="" text
  for text in "${printed[@]}"; do
    [[ $before != *": Skipped" ]] || { echo "${text//$'\t'/ }" && return; }
    before=$text
  done
}

pid=""
end_group() { [ -z "$pid" ] || kill -KILL -- "-$pid" 2>/dev/null; }
trap 'end_group; exit 1' INT TERM HUP
while [ ${#cases[@]} -gt 0 ]; do
  declare -A waiting=()
  for name in "${cases[@]}"; do waiting[$name]=1; done
  current="" last_of_run="" printed=() begin=$SECONDS failures_before=$failures late="" rest=""
  # A separate process group: remaining processes of a case end with it.
  exec {output}< <(exec setsid "$program" --gtest_color=no --gtest_filter="$(IFS=: && echo "${cases[*]}")" \
    </dev/null 2>&1)
  pid=$!
  while true; do
    [ $((SECONDS - begin)) -lt "$limit" ] || { late=1 && break; }
    # Checks each second whether the program still exists: a remaining process of a case keeps the
    # pipe open.
    IFS= read -r -t 1 -u "$output" line
    case $? in
      0) line=$rest$line rest="" ;;
      1) rest+=$line && break ;;  # the end of the output
      *)
        rest+=$line  # half a line
        kill -0 "$pid" 2>/dev/null || break
        continue
        ;;
    esac
    printed+=("$line")
    case $line in
      *'[ RUN      ] '*)
        name=${line##*'[ RUN      ] '}
        [ -z "$current" ] && [ -n "${waiting[$name]:-}" ] || continue
        current=$name begin=$SECONDS printed=("$line")
        unset "waiting[$name]"
        ;;
      *'[       OK ] '*) [[ -n $current && $line == *"] $current ("* ]] && result passed "$(milliseconds)" "" ;;
      *'[  FAILED  ] '*) [[ -n $current && $line == *"] $current"[,\ ]* ]] && result failed "$(milliseconds)" "" ;;
      *'[  SKIPPED ] '*) [[ -n $current && $line == *"] $current ("* ]] && result skipped "$(milliseconds)" "$(reason)" ;;
    esac
  done
  [ -z "$rest" ] || printed+=("$rest")
  [ -z "$late" ] || end_group
  exec {output}<&-
  wait "$pid" 2>/dev/null
  code=$?
  end_group
  pid=""

  if [ -n "$late" ]; then
    ended="took longer than $limit s"
  elif [ "$code" -gt 128 ]; then
    ended="ended by signal $((code - 128)) ($(kill -l $((code - 128))))"
  else
    ended="ended with exit code $code"
  fi
  left_over=()
  for name in "${cases[@]}"; do [ -z "${waiting[$name]:-}" ] || left_over+=("$name"); done
  if [ -n "$current" ]; then
    printed+=("$current: $ended, without a result")
    result failed $(((SECONDS - begin) * 1000)) "$ended"
  elif [ ${#left_over[@]} -eq ${#cases[@]} ]; then
    # Not even one case began, so none will.
    for name in "${left_over[@]}"; do
      current=$name
      printed+=("$name: the program $ended before it")
      result failed 0 "the program $ended before it"
      printed=()
    done
    left_over=()
  elif [ ${#left_over[@]} -gt 0 ] || { [ "$code" -ne 0 ] && [ "$failures" -eq "$failures_before" ]; }; then
    # Between cases, or after the last one: in both cases the last one does not pass.
    current=$last_of_run
    sed -i "\|^[a-z]*	[0-9]*	$current	|d" "$report"
    printed+=("$current: the program $ended after it")
    result failed 0 "the program $ended after it"
  fi
  cases=(${left_over[@]+"${left_over[@]}"})
done
echo ended >>"$report"
[ "$failures" -eq 0 ]
