#!/usr/bin/env bash
# arm_runner_test.sh TILEWRIGHT SOURCE BUILD: builds the runner for 64-bit Arm boards in the folder
# BUILD, as docs/deploy.md describes, packs it, and tunes a task with the contents of the package:
# under an emulator, and without a network if namespaces are available. Also builds the runner for
# 32-bit boards and checks its description of the device. Exit code 77 (skipped) if the compiler or
# the emulator is missing.
set -euo pipefail
tilewright=$1
source=$2
build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

for tool in aarch64-linux-gnu-g++ qemu-aarch64 arm-linux-gnueabihf-g++ qemu-arm; do
  command -v "$tool" >/dev/null || {
    echo "skipped: needs $tool (scripts/setup.sh --with-cross)"
    exit 77
  }
done
# Not optimized, and all files of a module at once: a third of the time to compile.
cmake -S "$source" -B "$build" -DTILEWRIGHT_RUNNER_ONLY=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-DNDEBUG -DTILEWRIGHT_BATCH=40 \
  -DCMAKE_TOOLCHAIN_FILE="$source/cmake/toolchains/aarch64-linux-gnu.cmake" \
  -DTILEWRIGHT_PAGES="$(dirname "$tilewright")/share/man/man1" \
  >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cmake --build "$build" -j 2 >"$work/log" 2>&1 || fail "$(tail -n 40 "$work/log")"
runner=$build/python_free_cli/runner/tilewright-runner
[ "$(od -An -tu2 -j18 -N2 "$runner" | tr -d ' ')" = 183 ] || fail "$runner is not for aarch64"

# The package that scripts/package.sh --cross builds. The runs below use its unpacked contents.
(cd "$work" && cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/debs" >"$work/log" 2>&1) || fail "$(cat "$work/log")"
deb=$(find "$work/debs" -maxdepth 1 -name 'tilewright-runner_*_arm64.deb')
[ -n "$deb" ] || fail "no package for arm64: $(ls "$work/debs")"
[ "$(dpkg-deb -f "$deb" Architecture)" = arm64 ] || fail "the package is for $(dpkg-deb -f "$deb" Architecture)"
dpkg-deb -f "$deb" Depends | grep -qE '^libc6 \(>= 2\.[0-9]+\)$' || fail "it needs $(dpkg-deb -f "$deb" Depends)"
if command -v lintian >/dev/null; then
  lintian --fail-on error,warning "$deb" >"$work/log" 2>&1 || fail "lintian: $(cat "$work/log")"
fi
dpkg-deb -x "$deb" "$work/root"
runner=$work/root/usr/bin/tilewright-runner
version=$(sed -n 's/^project(Tilewright VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
[ "$(qemu-aarch64 -L /usr/aarch64-linux-gnu "$runner" --version)" = "tilewright-runner $version" ] || fail "another version"

# With 32-bit pointers, numbers and sizes have other widths.
cmake -S "$source" -B "$build/32" -DTILEWRIGHT_RUNNER_ONLY=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-DNDEBUG -DTILEWRIGHT_BATCH=40 \
  -DCMAKE_TOOLCHAIN_FILE="$source/cmake/toolchains/arm-linux-gnueabihf.cmake" \
  -DTILEWRIGHT_PAGES="$(dirname "$tilewright")/share/man/man1" \
  >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cmake --build "$build/32" -j 2 >"$work/log" 2>&1 || fail "$(tail -n 40 "$work/log")"
[ "$(qemu-arm -L /usr/arm-linux-gnueabihf "$build/32/python_free_cli/runner/tilewright-runner" --version)" = \
  "tilewright-runner $version" ] || fail "another version for 32 bits"

connection="qemu-aarch64 -L /usr/aarch64-linux-gnu $runner"
if unshare --user --map-root-user --net true 2>/dev/null; then
  connection="unshare --user --map-root-user --net $connection"
else
  echo "network namespaces cannot be had here: the runner keeps the network"
fi
cat >"$work/dense.relay" <<'END'
def @main(%x: Tensor[(1, 64), float32]) {
  nn.dense(%x, meta[relay.Constant][0] /* ty=Tensor[(32, 64), float32] */)
}
END
"$tilewright" tune "$work/dense.relay" --runner "$connection" \
  --target 'llvm -mtriple=aarch64-linux-gnu -mattr=+neon' --trials 4 --records "$work/records.db" \
  >"$work/out" 2>"$work/log" || fail "$(cat "$work/out" "$work/log")"
"$tilewright" records export-csv "$work/records.db" -o "$work/trials.csv" >"$work/log" ||
  fail "$(cat "$work/log")"
# The device is the one that the runner detected in its environment: a processor with Arm's
# instructions.
[ "$(grep -c '""neon"".*,ok,' "$work/trials.csv")" -ge 4 ] ||
  fail "expected at least 4 good trials of an Arm processor: $(head -c 3000 "$work/trials.csv")"
