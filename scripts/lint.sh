#!/usr/bin/env bash
# lint.sh [--fix] [--tidy [BASE]]: looks at the form of the code, and ends with 1 where it is not right.
#   (nothing)      every C and C++ file must be formatted as clang-format 14 does it
#   --fix          formats them
#   --tidy [BASE]  clang-tidy 19, too, on the sources that differ from the commit BASE (HEAD), with
#                  build/dev/compile_commands.json; it is made if it is not there
# scripts/setup.sh --with-lint installs both. Another version of clang-format breaks lines elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

fix="" tidy="" base=HEAD
while [ $# -gt 0 ]; do
  case $1 in
    --fix) fix=1 ;;
    --tidy)
      tidy=1
      if [ $# -gt 1 ] && [[ $2 != --* ]]; then base=$2 && shift; fi
      ;;
    *) echo "lint: '$1': expected --fix or --tidy [BASE]" >&2; exit 2 ;;
  esac
  shift
done
need() { command -v "$1" >/dev/null || { echo "lint: no $1; scripts/setup.sh --with-lint installs it" >&2; exit 2; }; }

need clang-format-14
mkdir -p build
# Headers of earlier releases stay as they were.
mapfile -t files < <(git ls-files -- '*.cc' '*.h' '*.c' ':!tests/capi/release_*')
if [ -n "$fix" ]; then
  printf '%s\0' "${files[@]}" | xargs -0 -n 32 -P "$(nproc)" clang-format-14 -i
else
  printf '%s\0' "${files[@]}" | xargs -0 -n 32 -P "$(nproc)" clang-format-14 --dry-run -Werror 2>&1 |
    sed -n 's/^\([^ :]*:[0-9]*\):.*/\1/p' | sort -u >build/lint.txt || true
  if [ -s build/lint.txt ]; then
    head -n 20 build/lint.txt
    echo "lint: $(cut -d: -f1 build/lint.txt | sort -u | wc -l) files are not formatted; scripts/lint.sh --fix does it" >&2
    exit 1
  fi
fi

if [ -n "$tidy" ]; then
  need clang-tidy-19
  [ -e build/dev/compile_commands.json ] || cmake --preset dev >/dev/null
  mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc' 'records/*.cc' 'search/*.cc' \
    'measure/*.cc' 'cost_model/*.cc' 'python_free_cli/*.cc')
  [ ${#changed[@]} -eq 0 ] || printf '%s\0' "${changed[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 -p build/dev --quiet
fi
