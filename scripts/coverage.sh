#!/usr/bin/env bash
# coverage.sh [CTEST_OPTION...]: builds with Clang's counters, runs the tests (default: all but the
# slow ones) and prints for each module how many lines they execute. Needs setup.sh --with-sanitizers.
# Candidates and isolated processes end without writing their counts, so the figures are lower bounds.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=build/coverage
./scripts/build.sh $folder -DCMAKE_BUILD_TYPE=Debug -DTILEWRIGHT_BENCH=OFF \
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
  "-DCMAKE_CXX_FLAGS=-fprofile-instr-generate -fcoverage-mapping" \
  "-DCMAKE_C_FLAGS=-fprofile-instr-generate -fcoverage-mapping"
rm -rf $folder/profiles
options=("$@")
[ $# -gt 0 ] || options=(-LE slow)
# %2m: two files for each program, into which its processes add their counts.
LLVM_PROFILE_FILE=$PWD/$folder/profiles/%2m.profraw \
  ctest --test-dir $folder -j"$(nproc)" "${options[@]}" | tail -n 5
find $folder/profiles -name '*.profraw' -size +0 >$folder/profiles/files
llvm-profdata-19 merge -sparse --failure-mode=all -f $folder/profiles/files -o $folder/profiles/all.profdata
objects=()
while read -r program; do objects+=(-object "$program"); done < <(
  find $folder/tests $folder/python_free_cli $folder/src -type f -executable \( -name '*_tests' -o -name 'tilewright*' -o -name '*.so.*' \))
llvm-cov-19 report -instr-profile $folder/profiles/all.profdata "${objects[@]}" \
  -ignore-filename-regex='/(tests|build|bench)/|^/usr' 2>$folder/coverage.log >$folder/coverage.txt
# A row: file, regions, missed, share, functions, missed, share, lines, missed, share, branches, ...
awk '
  $1 ~ /\.(cc|h)$/ {
    split($1, part, "/")
    module = part[1] == "src" ? part[1] "/" part[2] : part[1]
    lines[module] += $8
    missed[module] += $9
  }
  END {
    for (module in lines) {
      printf "%-18s %7d lines %6.1f %%\n", module, lines[module], 100 * (1 - missed[module] / lines[module])
      all += lines[module]
      never += missed[module]
    }
    if (all > 0) printf "%-18s %7d lines %6.1f %%\n", "~ all", all, 100 * (1 - never / all)
  }' $folder/coverage.txt | sort
echo "each file: $folder/coverage.txt"
