#!/usr/bin/env bash
# installed_test.sh BUILD SOURCE MAKE_STORE: installs what a compiler links into a new folder, moves
# it, and builds and runs the examples and the compiler of tests/consumer against it.
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

# With pkg-config, strictly.
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
