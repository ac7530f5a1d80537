#!/usr/bin/env bash
# Sets the machine up, builds, and runs every test once: cases of the modules under AddressSanitizer and
# UndefinedBehaviorSanitizer, the rest optimized (SANITIZED_PARTS and SANITIZED_WITHOUT in
# tests/CMakeLists.txt). What has threads of its own runs under ThreadSanitizer, too.
# Ends with one line "N passed, N failed, N skipped". Skipped tests are named with their reasons before it.
# test.sh --no-skips: a test that is skipped for want of anything but a GPU (or NVIDIA's tools) or an
# instruction set has failed.
# test.sh --quick: what a change touches, optimized, in a machine that is set up: builds build/release and
# runs the test programs that are not those that passed last time (scripts/quick_tests.sh).
# test.sh --optimized: every test in the optimized build, without sanitizers.
set -uo pipefail
cd "$(dirname "$0")/.."

[ "${1:-}" = "--quick" ] && exec ./scripts/quick_tests.sh
no_skips="" sanitizers=1
for argument in "$@"; do
  case $argument in
    --no-skips) no_skips=1 ;;
    --optimized) sanitizers="" ;;
    *) echo "test: '$argument': expected --no-skips, --optimized or, alone, --quick" >&2; exit 2 ;;
  esac
done
./scripts/setup.sh ${sanitizers:+--with-sanitizers} || exit 1

passed=0 failed=0 skipped=0
skipped_tests="" # a line each: folder, test and reason

# run_tests FOLDER [CTEST_OPTION...]: adds the folder's results to the totals, and names what failed.
run_tests() {
  local folder=$1 what name reason p f s
  shift
  rm -rf "$folder/junit.xml" "$folder/cases"
  (cd "$folder" && ctest --output-on-failure --output-junit "$PWD/junit.xml" --timeout 300 -j 2 "$@" |
    grep -vE '^ *(Start|[0-9]+/[0-9]+ .* Passed)|^ *$')
  while IFS=$'\t' read -r what name reason; do
    case $what in
      failed) echo "FAILED: $folder: $name${reason:+: $reason}" ;;
      skipped) skipped_tests+="$folder: $name: $reason"$'\n' ;;
      total)
        IFS=$'\t' read -r p f s <<<"$name"$'\t'"$reason"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
        ;;
    esac
  done < <(./scripts/results.sh "$folder")
}

begin=$SECONDS cpu_before=0
# phase NAME: says that a phase begins, and what the one before took: on a machine that others use, too,
# its processor time says more than the clock.
phase() {
  local cpu
  times >build/times # of what this shell ran; not in a subshell, which has run nothing
  cpu=$(awk 'NR == 2 { split($1 "m" $2, part, "[ms]"); printf "%d", 60 * (part[1] + part[4]) + part[2] + part[5] }' build/times)
  echo "== $1 ($((SECONDS - begin)) s so far, the phase before took $((cpu - cpu_before)) s of processor time)"
  cpu_before=$cpu
}
# start_build FOLDER...: as scripts/build.sh, at the lowest priority: a build takes the processor time that the
# tests of the phase before leave. finish_build waits for it, and is what it came to.
start_build() {
  nice -n 19 setsid ./scripts/build.sh "$@" >build/started.log 2>&1 &
  started=$!
}
finish_build() {
  local code=0
  renice -n 0 -g "$started" >/dev/null 2>&1 # if this user may
  wait "$started" || code=$?
  started=""
  cat build/started.log
  return "$code"
}
started=""
trap '[ -z "$started" ] || kill -- "-$started" 2>/dev/null' EXIT
# With 40 files at a time a module takes three quarters of the time to compile, and 2.5 GiB for each compiler.
batch=""
[ "$(awk '/^MemTotal/ { print int($2 / 1048576) }' /proc/meminfo)" -lt $(($(nproc) * 4)) ] || batch=-DTILEWRIGHT_BATCH=40
# Clang makes checked code in half of GCC's time.
checked=(-DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DTILEWRIGHT_BENCH=OFF "${batch:--DTILEWRIGHT_BATCH=24}")

mkdir -p build
phase "optimized build"
release=1
./scripts/build.sh build/release ${batch:+"$batch"} -DTILEWRIGHT_TESTS_ONCE=${sanitizers:-0} || release=""
[ -z "$sanitizers" ] || start_build build/asan "${checked[@]}" -DTILEWRIGHT_SANITIZE=address,undefined
if [ -n "$release" ]; then
  phase "optimized: tests"
  run_tests build/release
else
  failed=$((failed + 1))
fi

if [ -n "$sanitizers" ]; then
  phase "AddressSanitizer and UndefinedBehaviorSanitizer: rest of the build"
  asan=1
  finish_build || asan=""
  start_build build/tsan "${checked[@]}" -DTILEWRIGHT_SANITIZE=thread -- \
    measure_tests search_tests runtime_tests capi_tests task_stress
  if [ -n "$asan" ]; then
    phase "AddressSanitizer and UndefinedBehaviorSanitizer: tests"
    # Other people's shared libraries keep memory until the end; ours is checked for errors, not leaks.
    # LLVM gives its threads signal stacks of its own, which the sanitizer must not unmap. Where memory came
    # from eight frames say well enough; thirty take a sixth of the time of tests that make many small things.
    ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0:malloc_context_size=8 run_tests build/asan -LE slow
  else
    failed=$((failed + 1))
  fi

  phase "ThreadSanitizer: rest of the build"
  if finish_build; then
    phase "ThreadSanitizer: tests"
    # A race ends the program, so that it is the failure of the case that has it. An OpenCL driver has threads
    # that are not instrumented: its cases do not run here.
    CASES_WITHOUT='OpenCl*' TSAN_OPTIONS="suppressions=tsan.supp halt_on_error=1" run_tests build/tsan -L 'measure|search|runtime|capi' -LE slow
  else
    failed=$((failed + 1))
  fi
fi

if [ -n "$skipped_tests" ]; then
  echo "== skipped"
  printf '%s' "$skipped_tests"
fi
if [ -n "$no_skips" ]; then
  unwanted=$(printf '%s' "$skipped_tests" | grep -cvE 'GPU|ptxas|this CPU (has|lacks|cannot)')
  if [ "$unwanted" -gt 0 ]; then
    echo "$unwanted of these need nothing that a machine may lack here: counted as failed"
    failed=$((failed + unwanted))
    skipped=$((skipped - unwanted))
  fi
fi
phase "done"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
