#!/usr/bin/env bash
# archive_test.sh BUILD SOURCE MAKE_STORE: packs a build as the portable archive and the wheel. Uses
# both in a chroot of Debian 12 that has only the base system, as an unprivileged user; compiles
# programs with the archive's headers and libraries on this machine and runs them in the chroot;
# installs the wheel by pip if this machine has Python. Needs root. debootstrap creates the chroot
# from apt's mirror and keeps it in BUILD/debian-12.
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$2")
make_store=$(realpath "$3")
fail() {
  echo "archive: $*" >&2
  exit 1
}
export PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
for tool in patchelf 7z unzip zstd debootstrap unshare setpriv pkg-config; do
  command -v $tool >/dev/null || { echo "archive: needs $tool (scripts/setup.sh --with-packages)" >&2; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "archive: needs root for debootstrap and chroot" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^project(Tilewright VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
machine=$(uname -m)

# The base system, from the mirror of this machine's apt. If there is no mirror, the test fails.
debian=$build/debian-12
if [ ! -e "$debian/complete" ]; then
  mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(SITE)' 'Created-By: Packages' |
    awk '$1 == "bookworm" && $2 == "main" { print $3; exit }')
  [ -n "$mirror" ] || fail "apt on this machine has no mirror of Debian 12 (bookworm)"
  proxy=""
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  rm -rf "$debian"
  http_proxy=${proxy:-${http_proxy:-}} debootstrap --variant=minbase bookworm "$debian/root" "$mirror" \
    >"$work/debootstrap.log" 2>&1 || fail "debootstrap from $mirror: $(tail -n 5 "$work/debootstrap.log")"
  touch "$debian/complete"
fi
root=$debian/root
# Remove the files of an earlier run.
rm -rf "${root:?}/opt" "${root:?}/home"
mkdir -p "$root/opt" "$root/home/user"
chmod 777 "$root/home/user"
# in_debian COMMAND...: runs a command in the chroot as the user nobody, in an empty environment.
in_debian() {
  unshare --mount --pid --fork bash -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec env -i \
    /usr/sbin/chroot "$0" /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups \
    /usr/bin/env -C /home/user HOME=/home/user PATH=/usr/bin:/bin LC_ALL=C "$@"' "$root" "$@" </dev/null
}
in_debian sh -c 'for file in /usr/bin/cc /usr/bin/python3 /usr/lib/*/libLLVM* /usr/lib/*/libsqlite3*; do
  [ ! -e "$file" ] || echo "$file"
done' >"$work/more" 2>&1 || fail "no chroot in $root: $(cat "$work/more")"
[ ! -s "$work/more" ] || fail "$root has more than the base system: $(cat "$work/more")"

# Archive and wheel: at most 45 MiB each.
"$source/scripts/package.sh" --only archive --quick --built "$build" -o "$work/out" >"$work/log" 2>&1 || fail "package.sh: $(cat "$work/log")"
name=tilewright-$version-linux-$machine
archive=$work/out/$name.tar.zst
wheel=$work/out/tilewright-$version-py3-none-manylinux_2_36_$machine.whl
for file in "$archive" "$wheel"; do
  [ -s "$file" ] || fail "no ${file##*/}: $(ls "$work/out")"
  [ "$(stat -c %s "$file")" -le $((45 * 1024 * 1024)) ] || fail "${file##*/} has more than 45 MiB: $(stat -c %s "$file") bytes"
done

# The archive runs from any folder, also from one whose name has a space.
mkdir "$root/opt/any where"
tar --zstd -C "$root/opt/any where" -xf "$archive" || fail "tar --zstd does not unpack it"
tree="/opt/any where/$name"
here=$root$tree
[ -z "$(find "$here" ! -type d ! -type f -o ! -user root -o -perm /022)" ] || fail "files of other kinds, owners or rights"
! grep -rqF -e "$source" -e "$build" "$here"/{lib/cmake,lib/pkgconfig,share} || fail "names a folder of the build"

# The loader finds every library in the archive, except those of the C library.
cat >"$root/opt/libraries.sh" <<'END'
find "$1" -type f | while read -r file; do
  head -c 4 "$file" | grep -q ELF || continue
  ldd -r "$file" 2>&1 | sed "s|^|${file##*/}: |"
done
END
in_debian bash /opt/libraries.sh "$tree" >"$work/ldd" 2>&1 || fail "ldd: $(cat "$work/ldd")"
outside=$(grep -vE "=> $tree/|(/|[[:space:]])(libc|libm|libdl|libpthread|librt|ld-linux-[a-z0-9-]*|linux-vdso)\.so\.[0-9]+ \(0x" "$work/ldd" || true)
[ -z "$outside" ] || fail "ldd names others: $outside"
[ "$(grep -c "=> $tree/" "$work/ldd")" -ge 50 ] || fail "ldd names too few: $(cat "$work/ldd")"

# run STEP COMMAND...: runs a command in the chroot; its output is $work/STEP.
run() {
  local step=$1
  shift
  in_debian "$@" >"$work/$step" 2>&1 || fail "$step: $(cat "$work/$step")"
}
# says STEP PATTERN: the step's output, its folded lines joined, has a line with the pattern.
says() {
  sed -z 's/\n  */ /g' "$work/$1" | grep -E -- "$2" >/dev/null ||
    fail "$1 does not say '$2': $(cat "$work/$1")"
}
program=$tree/bin/tilewright
run version "$program" --version
says version "^tilewright $version$"
run runner-version "$program-runner" --version
says runner-version "^tilewright-runner $version$"
run model "$program" model squeezenet1_1 -o net.onnx
run tune "$program" tune 'net.onnx#3' --trials 16 --records records.db
says tune '^16 trials, .*failed: none'
run compile "$program" compile net.onnx --records records.db -o net.so
says compile '31 of 31 operators compared with the reference'
run verify "$program" verify net.onnx net.so
says verify '^31 operators agree with the reference'
run run "$program" run net.so --json
says run '"outputs"'
run by-runner "$program" tune 'net.onnx#4' --trials 2 --strategy random --records records.db --runner "'$program-runner'"
says by-runner '^2 trials, .*failed: none'
# Installed data: the cost model, and presets of boards below.
run cost-model "$program" query 'net.onnx#4' --target 'llvm -mcpu=skylake-avx512' --no-packages --accept default
says cost-model "$tree/share/tilewright/cost_models/llvm.model"
# The other code generators: parts of LLVM that the trimmed library could lack.
for target in rasp4b64 rasp3b 'cuda -arch=sm_80'; do
  run target "$program" compile net.onnx --target "$target" -o other.so
  says target '^other.so: '
done
run ptx "$program" lower 'net.onnx#1' --target 'cuda -arch=sm_90' --emit ptx
says ptx '^\.target sm_90'
run board-assembly "$program" lower 'net.onnx#1' --target rasp4b64 --emit asm
says board-assembly 'fmla'
run simt "$program" measure --task 'net.onnx#3' --target 'cuda -arch=sm_80' --device simt
says simt 'verified|agrees|ok'
if in_debian "$program" lower 'net.onnx#1' --target 'llvm -mtriple=riscv64-linux-gnu' --emit asm >"$work/none" 2>&1; then
  fail "code for a machine whose generator is left out: $(cat "$work/none")"
fi
says none 'No available targets are compatible'
run doctor sh -c '"$1" doctor --json || [ $? -eq 1 ]' sh "$program"
says doctor '"is":"nats-server not installed, client library installed"'
[ -s "$here/share/man/man1/tilewright-tune.1.gz" ] || fail "no manual pages"
run completion bash -c "source \"\$0\"; COMP_WORDS=(tilewright doct); COMP_CWORD=1; _tilewright; echo \"\${COMPREPLY[@]}\"" \
  "$tree/share/bash-completion/completions/tilewright"
says completion '^doctor$'

# LD_LIBRARY_PATH does not replace bundled libraries.
mkdir "$root/opt/wrong"
for library in libstdc++.so.6 libsqlite3.so.0 libLLVM.so.19.1 libz.so.1 libssl.so.3; do echo none >"$root/opt/wrong/$library"; done
run beside-others env LD_LIBRARY_PATH=/opt/wrong "$program" verify net.onnx net.so

# Programs that use the libraries: built on this machine by pkg-config and by CMake.
plain=/opt/tree
mv "$here" "$root$plain"
flags=$(PKG_CONFIG_LIBDIR=$root$plain/lib/pkgconfig pkg-config --cflags --libs tilewright)
# shellcheck disable=SC2086 # words on purpose
cc -std=c99 "$source/docs/examples/query.c" $flags "-Wl,-rpath,$plain/lib" -o "$root/opt/query_c" >"$work/log" 2>&1 || fail "query.c: $(cat "$work/log")"
"$make_store" "$root/home/user/own.db"
chmod 666 "$root"/home/user/own.db*
key='conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32'
run query_c /opt/query_c own.db "$key"
says query_c '^hit'
example=$source/docs/examples/expressions/program
cmake -S "$example" -B "$work/own" -DCMAKE_PREFIX_PATH="$root$plain" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_SKIP_RPATH=ON \
  -DCMAKE_EXE_LINKER_FLAGS="-static-libstdc++ -static-libgcc -Wl,-rpath,$plain/lib" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cmake --build "$work/own" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cp "$work/own/tune_own" "$root/opt/"
cp -r "$example" "$root/opt/example"
run tune_own /opt/tune_own /opt/example tuned.db own.so
says tune_own '^called: right'

# Licences of all bundled packages.
licences=$root$plain/share/doc/tilewright/licences
for package in llvm-19-dev libstdc++6 libxgboost0 libsqlite3-0 libssl3 nlohmann-json3-dev; do
  if [ ! -s "$licences/$package" ] || ! grep -q "^$package (" "$licences/README"; then fail "no licence of $package"; fi
done
bundled=$(find "$root$plain/lib/tilewright" -name 'libtw-*' | wc -l)
[ "$(grep -o 'lib[^ ,:]*\.so\.[0-9.]*' "$licences/README" | sort -u | wc -l)" = "$bundled" ] || fail "licences of other than the $bundled libraries: $(cat "$licences/README")"

# The wheel holds the files of the archive, and RECORD has the hash and the size of each.
mkdir "$work/wheel"
(cd "$work/wheel" && unzip -q "$wheel")
diff -r "$work/wheel/tilewright-$version.data/scripts" "$root$plain/bin" >"$work/log" || fail "commands of the wheel: $(cat "$work/log")"
rm -rf "$work/expected" && cp -r "$root$plain" "$work/expected" && rm -r "$work/expected/bin"
diff -r "$work/wheel/tilewright-$version.data/data" "$work/expected" >"$work/log" || fail "files of the wheel: $(cat "$work/log")"
[ -z "$(find "$work/wheel" -name '*.py')" ] || fail "Python code in the wheel"
listed=0
while IFS=, read -r file hash size; do
  [ -f "$work/wheel/$file" ] || fail "RECORD names $file, which is not there"
  listed=$((listed + 1))
  [[ $file == */RECORD ]] && continue
  [ "$size" = "$(stat -c %s "$work/wheel/$file")" ] || fail "RECORD has another size of $file"
  [ "$(base64 -d <<<"$(tr '_-' '/+' <<<"${hash#sha256=}")=" | od -An -v -tx1 | tr -d ' \n')" = "$(sha256sum "$work/wheel/$file" | cut -d' ' -f1)" ] ||
    fail "RECORD has another hash of $file"
done <"$work/wheel/tilewright-$version.dist-info/RECORD"
[ "$listed" = "$(find "$work/wheel" -type f | wc -l)" ] || fail "RECORD has $listed files"
# The same layout as pip makes, in the chroot, which has no Python.
mkdir "$root/opt/env iron"
cp -r "$work/wheel/tilewright-$version.data/data/." "$root/opt/env iron/"
cp -r "$work/wheel/tilewright-$version.data/scripts" "$root/opt/env iron/bin"
run from-wheel "/opt/env iron/bin/tilewright" compile net.onnx --records records.db -o net.so
says from-wheel '31 of 31 operators compared with the reference'
by_pip="no pip here"
if python3 -m venv "$work/venv" >/dev/null 2>&1 && [ -x "$work/venv/bin/pip" ]; then
  "$work/venv/bin/pip" install -q --no-index --no-deps --disable-pip-version-check "$wheel" >"$work/log" 2>&1 || fail "pip: $(cat "$work/log")"
  [ "$("$work/venv/bin/tilewright" --version)" = "tilewright $version" ] || fail "the wheel's command says another version"
  [ "$("$work/venv/bin/tilewright-runner" --version)" = "tilewright-runner $version" ] || fail "the wheel's runner says another version"
  HOME=$work "$work/venv/bin/tilewright" compile "$root/home/user/net.onnx" -o "$work/net.so" >"$work/log" 2>&1 || fail "the wheel's command: $(cat "$work/log")"
  "$work/venv/bin/pip" uninstall -q -y tilewright >"$work/log" 2>&1 || fail "pip: $(cat "$work/log")"
  left=$(find "$work/venv" ! -type d -path '*tilewright*') # pip leaves empty folders
  [ -z "$left" ] || fail "pip leaves files behind: $left"
  by_pip="installed and removed by pip"
fi
rm -rf "${root:?}/opt" "${root:?}/home"
echo "in an empty Debian 12: archive (here quickly packed) $(du -h --apparent-size "$archive" | cut -f1), wheel $(du -h --apparent-size "$wheel" | cut -f1), $by_pip"
