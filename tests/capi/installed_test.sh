#!/usr/bin/env bash
# installed_test.sh BUILD SOURCE MAKE_STORE: installs the files that a compiler links into a new
# folder, moves that folder, and builds and runs the examples and the compiler of tests/consumer
# with it.
set -euo pipefail
build=$1
source=$2
make_store=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
expect() { # expect TEXT FILE
  grep -qF -- "$1" "$2" || fail "no '$1' in: $(cat "$2")"
}

cmake --install "$build" --component capi --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix" # the tree names no place: it can be moved
prefix=$work/prefix
library=$(dirname "$(find "$prefix" -name libtilewright.so)")
"$make_store" "$work/records.db"
key='conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32'

# With pkg-config and strict warnings.
export PKG_CONFIG_PATH=$library/pkgconfig
flags=$(pkg-config --cflags --libs tilewright)
# shellcheck disable=SC2086
${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Werror "$source/docs/examples/query.c" $flags -o "$work/query_c"
# shellcheck disable=SC2086
${CXX:-c++} -std=c++17 -pedantic -Wall -Wextra -Werror -pthread "$source/docs/examples/query.cc" $flags \
  -o "$work/query_cc"
export LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$work/query_c" "$work/records.db" "$key" >"$work/out"
expect "hit: fastest verified trial" "$work/out"
expect "measured 0.001 seconds" "$work/out"
"$work/query_cc" "$work/records.db" >"$work/out"
expect "hit; " "$work/out"
if "$work/query_c" "$work/none.db" "$key" 2>"$work/out"; then fail "a missing store was opened"; fi
expect "no such record store (not found)" "$work/out"
if "$work/query_c" "$work/records.db" 'conv2d(' 2>"$work/out"; then fail "half a key was taken"; fi
expect "invalid argument" "$work/out"

# A task of the program itself, in C; the header for C++; and a Python if there is one.
# shellcheck disable=SC2086
${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Werror "$source/docs/examples/open/caller.c" $flags -o "$work/caller"
"$work/caller" "$work/task.db" 64 200 >"$work/out"
expect "hit: {" "$work/out"
"$work/caller" "$work/task.db" 96 0 >"$work/out"
expect "near hit: config of the nearest tuned workload 'transpose size=64'" "$work/out"
echo '#include <tilewright/tilewright.hpp>' >"$work/tasks.cc"
${CXX:-c++} -std=c++17 -pedantic -Wall -Wextra -Werror -fno-exceptions -fsyntax-only -I "$prefix/include" "$work/tasks.cc"
if python3 -c 'import ctypes' 2>/dev/null; then
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$source/docs/examples/open python3 - "$work/task.db" "$source" <<'END' >"$work/out"
import sys
from tilewright_tasks import Task
task = Task(sys.argv[1], "gemm", open(sys.argv[2] + "/docs/examples/open/matmul.json").read(), problem={"m": 512},
            environment={"match": {"gpu": "A100"}})
task.tell(task.ask()[0], verdict="compile", reason="too many registers")
number, config = task.ask()
task.tell(number, seconds=[2.0, 1.0, 3.0])
task.record(config, seconds=[1.5])
print([(r["verdict"], r["samples"]) for r in task.records()])
try:
    task.tell(number, seconds=[1.0])
except RuntimeError as error:
    print(error)
END
  expect "[('compile', []), ('ok', [2.0, 1.0, 3.0]), ('ok', [1.5])]" "$work/out"
  expect "has a result already" "$work/out"
fi

# The kernel of a dense layer as C: the default config, and 20 others of its templates' spaces. The
# system's compiler builds each, and its result is compared with plain loops.
example=$source/docs/examples/kernel
# shellcheck disable=SC2086
${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Werror "$example/kernel_to_c.c" $flags -o "$work/kernel_to_c"
${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Werror -O1 -c "$example/check.c" -o "$work/check.o"
dense='dense(float32[8,96]MK,float32[200,96]NK)->float32'
for number in default {1..20}; do
  store=-
  if [ "$number" != default ]; then
    store=$work/config_$number.db
    "$make_store" "$store" "$dense" "$number"
  fi
  "$work/kernel_to_c" "$store" "$dense" >"$work/kernel.c"
  ${CC:-cc} -std=c99 -Wall -Wno-unknown-pragmas -Werror -O1 "$work/kernel.c" "$work/check.o" -lm -o "$work/check"
  "$work/check" 8 200 96 >"$work/out" || fail "config $number of $(sed -n 1p "$work/kernel.c"): $(cat "$work/out")"
  sed -n '1s/.* by /  /p' "$work/kernel.c" >>"$work/templates"
done
[ "$(sort -u "$work/templates" | wc -l)" -ge 4 ] || fail "few templates: $(sort "$work/templates" | uniq -c)"
if "$work/kernel_to_c" - 'dense(' 2>"$work/out" >/dev/null; then fail "half a key was taken"; fi
expect "invalid argument" "$work/out"

# A program of release 1.0.0, compiled with the header of that release: it links, and calls every
# function of that release on files that the release wrote.
old=$source/tests/capi/release_1_0 left=$source/tests/fixtures/2026-11-24-1.0.0
${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Werror -I "$old/include" "$old/client.c" -L "$library" -ltilewright \
  -o "$work/old_client"
mkdir "$work/none_installed"
"$work/old_client" "$work/records.db" "$key" "$left/autotvm.log" "$left/plain.so" "$work/none_installed"
uncalled=$(comm -23 <(sed -nE 's/^ (tw_[a-z_]+)@[^ ]+ 1\.0\.0$/\1/p' "$source/packaging/libtilewright1.symbols" | sort) \
  <(nm -D --undefined-only "$work/old_client" | grep -oE 'tw_[a-z_]+' | sort))
[ -z "$uncalled" ] || fail "the client of 1.0.0 does not call: $uncalled"

# With the plugin header, in any order. Alone, the plugin header also has the 1.0.0 names of its
# knobs.
for order in 'tilewright plugin' 'plugin tilewright' 'plugin'; do
  {
    for header in $order; do echo "#include <tilewright/$header.h>"; done
    echo 'int main(void) { tw_plugin_knob knob = {sizeof knob, 0, "x", 0}; return knob.value_count; }'
    case $order in
      plugin) echo 'static tw_knob old = {sizeof(tw_knob), 1, "x", 0}; int Count(void); int Count(void) { return old.value_count; }' ;;
      *) echo 'int Kind(const tw_knob* knob); int Kind(const tw_knob* knob) { tw_knob none = TW_KNOB_INIT; return knob->kind + none.kind; }' ;;
    esac
  } >"$work/both.c"
  includes=(-pedantic -Wall -Wextra -Werror -fsyntax-only -I "$source/include")
  ${CC:-cc} -std=c99 "${includes[@]}" "$work/both.c" || fail "C: $order"
  ${CXX:-c++} -std=c++17 "${includes[@]}" -x c++ "$work/both.c" || fail "C++: $order"
done

# With find_package: the examples, and a compiler outside of this project.
for project in docs/examples tests/consumer; do
  cmake -S "$source/$project" -B "$work/$project" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Debug >"$work/log" 2>&1 || fail "$(cat "$work/log")"
  cmake --build "$work/$project" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
done
"$work/docs/examples/query_c" "$work/records.db" "$key" >"$work/out"
expect "hit: fastest verified trial" "$work/out"
"$work/tests/consumer/tiny_compiler" "$work/records.db" "$source/tests/consumer/operators.txt" \
  "$work/code" >"$work/out"
cat "$work/out"
[ "$(cut -d' ' -f1 "$work/out" | tr '\n' ' ')" = "hit hit hit near default " ] ||
  fail "expected hit hit hit near default"
expect "default config of" "$work/code"
expect "for (int " "$work/code"
echo "installed: $(du -sk "$prefix" | cut -f1) KiB"
