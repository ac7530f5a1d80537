#!/usr/bin/env bash
# deploy_test.sh BUILD SOURCE: installs everything, compiles a model as a library and as a bundle
# with the installed program, and builds and runs the examples with the results.
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
expect() { # expect TEXT FILE
  grep -qF -- "$1" "$2" || fail "no '$1' in: $(head -c 1000 "$2")"
}

cmake --install "$build" --prefix "$work/prefix" >install.log
tilewright=$work/prefix/bin/tilewright
"$tilewright" targets >out
expect "rasp4b64" out

"$tilewright" model squeezenet1_1 --int8 -o net.onnx
mkdir library
"$tilewright" compile net.onnx --name model --model none -o library/model.so 2>log
"$tilewright" compile net.onnx --name model --model none --format bundle -o bundle 2>log
expect '"format": "tilewright-bundle-1"' bundle/graph.json
for file in model.so model.h model.params; do [ -s "bundle/$file" ] || fail "no $file in the bundle"; done
[ "$(stat -c %s bundle/model.so)" -lt "$(stat -c %s library/model.so)" ] ||
  fail "the bundle's library is not smaller"

# The same tensor raw and as .npy: zeros, float32[1,3,224,224].
bytes=$((4 * 3 * 224 * 224))
head -c "$bytes" /dev/zero >input.raw
header="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 224, 224), }"
{ printf '\223NUMPY\001\000\166\000%-117s\n' "$header" && cat input.raw; } >input.npy

cmake -S "$source/docs/examples/deploy" -B examples -DLIBRARY_DIR=library -DBUNDLE_DIR=bundle \
  -DCMAKE_BUILD_TYPE=Debug >log 2>&1 || fail "$(cat log)"
cmake --build examples >log 2>&1 || fail "$(cat log)"
examples/run_library input.raw >raw.out
examples/run_library input.npy >npy.out
examples/run_bundle bundle/model.params input.npy >bundle.out
[ "$(wc -l <raw.out)" -eq 5 ] || fail "not five results: $(cat raw.out)"
cmp raw.out npy.out
cmp raw.out bundle.out
"$tilewright" run bundle --input input.npy >run.out
tail -n 5 run.out | sed 's/^ *//' >run.top
sed 's/^ *//' raw.out | cmp - run.top

# Input of the wrong size is rejected.
head -c 1000 input.npy >short.npy
if examples/run_library short.npy 2>log; then fail "half a tensor was taken"; fi
expect "not as many bytes" log
sed 's/(1, 3, 224, 224)/(1, 224, 224, 3)/' input.npy >nhwc.npy
if examples/run_library nhwc.npy 2>log; then fail "another layout was taken"; fi
expect "type and shape" log
head -c 100000 bundle/model.params >cut.params
if examples/run_bundle cut.params input.npy 2>log; then fail "half a parameter file was taken"; fi
expect "code 105" log
mv bundle/model.params elsewhere
if "$tilewright" run bundle 2>log; then fail "a model ran without parameters"; fi
expect "model.params" log

# The same for Arm boards with their toolchain files, under an emulator: integers are equal.
cat >tiny.relay <<'END'
def @main(%x: Tensor[(1, 8, 6, 6), int8]) {
  nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(8, 8, 3, 3), int8] */, out_dtype="int32")
}
END
yes 'any bytes' | head -c 288 >tiny.raw || true  # yes ends by a signal
tiny() { # tiny FOLDER COMPILE_OPTION... -- CMAKE_OPTION...: the example programs for it
  local folder=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  mkdir -p "$folder/library"
  "$tilewright" compile tiny.relay --name model --model none "${options[@]}" -o "$folder/library/model.so" 2>log
  "$tilewright" compile tiny.relay --name model --model none "${options[@]}" --format bundle -o "$folder/bundle" 2>log
  cmake -S "$source/docs/examples/deploy" -B "$folder/build" -DLIBRARY_DIR="$folder/library" \
    -DBUNDLE_DIR="$folder/bundle" "$@" >log 2>&1 || fail "$(cat log)"
  cmake --build "$folder/build" >log 2>&1 || fail "$(cat log)"
}
tiny here --
here/build/run_library tiny.raw >here.out
for board in aarch64-linux-gnu:rasp4b64:qemu-aarch64 arm-linux-gnueabihf:rasp4b:qemu-arm; do
  IFS=: read -r machine name emulator <<<"$board"
  for tool in "gcc-$machine" "g++-$machine"; do
    grep -qwF -- "$tool" "$source/scripts/setup.sh" || fail "setup.sh does not install $tool"
  done
  for tool in "$machine-gcc" "$machine-g++" "$emulator"; do
    command -v "$tool" >/dev/null || { echo "deploy: $name is skipped: needs $tool" && continue 2; }
  done
  tiny "$name" --target "$name" -- "-DCMAKE_TOOLCHAIN_FILE=$source/cmake/toolchains/$machine.cmake"
  "$emulator" -L "/usr/$machine" -E "LD_LIBRARY_PATH=$name/library" "$name/build/run_library" tiny.raw >board.out
  cmp here.out board.out
  "$emulator" -L "/usr/$machine" -E "LD_LIBRARY_PATH=$name/bundle:/usr/$machine/lib" "$name/build/run_bundle" \
    "$name/bundle/model.params" tiny.raw >board.out
  cmp here.out board.out
done

# The runtime for boards is small and depends only on the C library.
runtime=$(find prefix -name libtilewright_rt.a)
cp "$runtime" rt.a
strip --strip-debug rt.a
[ "$(stat -c %s rt.a)" -lt 300000 ] || fail "the runtime has $(stat -c %s rt.a) bytes"
for file in bundle/model.so library/model.so; do
  needed=$(objdump -p "$file" | awk '/NEEDED/ {print $2}' | grep -v '^lib[cm]\.so\.6$' || true)
  [ -z "$needed" ] || fail "$file needs $needed"
done
"$source/tests/program/search_path_test.sh" prefix bundle library
echo "deploy: runtime of $(stat -c %s rt.a) bytes"
