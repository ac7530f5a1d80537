#!/bin/bash
# adding_test.sh KIND BUILD SOURCE: adds one thing to a copy of the files it takes, as docs/adding.md says,
# and runs its test. KIND.patch is the change; in front of it:
#   At most: N               files created or changed, the test among them
#   Program: NAME…           programs of tests/ to link with what changed; the last one is run
#   Run: ARGUMENTS           of that program
#   Compile: FILE…           sources that do not change, but include a header that does
# Fails when the patch does not apply, when it is more files than it may be, when docs/adding.md names other files,
# and when the test does. Only what the patch touches is compiled, with the flags of the build, and linked before the
# build's libraries. Where an object of these was compiled from several files, its other definitions are used.
set -euo pipefail
kind=$1 build=$2 source=$3
patch=$source/tests/adding/$kind.patch
scratch=$build/adding/$kind
field() { sed -n "s/^$1: *//p;/^diff /q" "$patch"; }
first_of() { compgen -G "$1" | sed -n 1p; }  # reads to the end: a pipe that closes early fails
# Prints the first object like a pattern that the build knows; a folder may have those of an earlier configuration.
first_built() {
  local object
  for object in $(compgen -G "$1"); do
    if grep -qF "${object#"$build"/}:" "$build/build.ninja"; then echo "$object" && return; fi
  done
  return 1
}
fail() { echo "adding $kind: $*" >&2; exit 1; }

rm -rf "$scratch" && mkdir -p "$scratch"
mapfile -t files < <(sed -n 's|^diff --git a/.* b/||p' "$patch")
read -ra again <<<"$(field Compile)"
for file in "${files[@]}" ${again[@]+"${again[@]}"}; do
  mkdir -p "$scratch/$(dirname "$file")"
  if [ -e "$source/$file" ]; then cp "$source/$file" "$scratch/$file"; fi
done
(cd "$scratch" && patch -p1 -s --no-backup-if-mismatch <"$patch") || fail "the patch no longer applies"

# The count, and what the document says.
most=$(field "At most")
[ ${#files[@]} -le "$most" ] || fail "${#files[@]} files, expected at most $most"
named=$(sed -n "/^## .*(\`$kind\`)/,/^## /p" "$source/docs/adding.md" | grep -o '^| `[^`]*`' | tr -d '|` ' | sort)
[ "$named" = "$(printf '%s\n' "${files[@]}" | sort)" ] ||
  fail "docs/adding.md names"$'\n'"$named"$'\n'"and the patch changes"$'\n'"$(printf '%s\n' "${files[@]}" | sort)"

# Folders of the objects of the target that a source belongs to; the source's path inside is $inside.
place() {
  local folder
  if [[ $1 == tests/* ]]; then
    inside=${1#tests/}
    objects=$build/tests/CMakeFiles/${inside%%/*}_tests.dir
    return
  fi
  folder=$(dirname "$1")
  while [ ! -d "$build/$folder/CMakeFiles" ]; do folder=$(dirname "$folder"); done
  inside=${1#"$folder"/}
  objects=$(first_of "$build/$folder/CMakeFiles/tw_*.dir")
}

# compile SOURCE OBJECT LIKE: as the build compiles the object LIKE, the patch's files before the project's. Without
# optimization it takes two thirds of the time; precompiled headers are for optimized code.
compile() {
  local command
  command=$(ninja -C "$build" -t commands "${3#"$build"/}" | tail -1)
  [ -n "$command" ] || fail "$1: nothing like it is built"
  command=$(sed -E "s| -MD -MT [^ ]+ -MF [^ ]+||; s| -o [^ ]+ -c [^ ]+.*| -o $2 -c $1|; s| -I| -I$scratch -I|; s| -O[0-9s]| -O0|g
                    s| -Winvalid-pch||; s| -include [^ ]*/cmake_pch.hxx||
                    s|$build/tests/measure_test_worker|$scratch/measure_test_worker|" <<<"$command")
  (cd "$build" && eval "$command") || fail "$1 does not compile"
}

# A test that is compiled together with others is so here, too: a case is registered once.
library=() cli=() tests=() replaced=()
for file in "${files[@]}" ${again[@]+"${again[@]}"}; do
  [[ $file == *.cc ]] || continue
  place "$file"
  unity=""
  for candidate in $([[ $file != tests/* ]] || grep -lF "\"$source/$file\"" "$objects"/Unity/*.cxx 2>/dev/null); do
    # Files of an earlier configuration stay in the folder; the build does not know them.
    if grep -qF "${candidate#"$build"/}.o:" "$build/build.ninja"; then unity=$candidate; fi
  done
  if [ -n "$unity" ]; then
    object=$scratch/$(basename "$objects").$(basename "$unity").o
    [ ! -e "$object" ] || continue
    expressions=()
    for changed in "${files[@]}"; do expressions+=(-e "s|\"$source/$changed\"|\"$scratch/$changed\"|"); done
    sed "${expressions[@]}" "$unity" >"${object%.o}.cc"
    compile "${object%.o}.cc" "$object" "$unity.o"
    replaced+=("${unity#"$build"/}.o")
  else
    object=$scratch/$file.o
    like=$objects/$inside.o
    grep -qF "${like#"$build"/}:" "$build/build.ninja" || like=$(first_built "$objects/$(dirname "$inside")/*.cc.o") ||
      like=$(first_built "$objects/Unity/*.o") || like=$(first_built "$objects/*.cc.o") || fail "$file: nothing beside it is built"
    compile "$scratch/$file" "$object" "$like"
  fi
  case $file in
    tests/*) tests+=("$object") ;;
    python_free_cli/* | src/session/*) cli+=("$object") ;;
    *) library+=("$object") ;;
  esac
done

# What was compiled goes before the libraries, which then are not asked for it. Of the program's own files only its
# tests know; in others they are compiled, no more.
for program in $(field Program); do
  path=tests/$program
  command=$(ninja -C "$build" -t commands "$path" | grep -F -- " -o $path " | tail -1 | sed 's/^: && //; s/ && .*//')
  [ -n "$command" ] || fail "$path: is not built"
  added=(${library[@]+"${library[@]}"})
  if [ "$program" = program_tests ]; then added+=(${cli[@]+"${cli[@]}"}); fi
  if [[ $program == *_tests ]]; then added+=(${tests[@]+"${tests[@]}"}); fi
  for object in ${replaced[@]+"${replaced[@]}"}; do command=${command//" $object"/}; done
  (cd "$build" && eval "${command/" -o $path "/" ${added[*]} -Wl,-z,muldefs -o $scratch/$program "}") ||
    fail "$program does not link"
  run=$scratch/$program
done
TILEWRIGHT_ADDED=$scratch eval "$run $(field Run)" >"$scratch/output" 2>&1 ||
  { tail -60 "$scratch/output" >&2; fail "its test fails"; }
grep -q 'PASSED.* [1-9][0-9]* test' "$scratch/output" || fail "no test ran"
echo "adding $kind: ${#files[@]} files, $(grep -o '[0-9]* tests\? from.* ran' "$scratch/output" | tail -1)"
rm -rf "$scratch"
