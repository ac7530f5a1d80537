#!/usr/bin/env bash
# packages_test.sh BUILD SOURCE MAKE_STORE: packs a build, installs the packages with dpkg in a
# folder that acts as the root directory, uses them from an empty folder as a user who is not root,
# upgrades them to a later version, and removes them. The dependencies are those of this machine:
# dpkg checks them by its list.
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$2")
make_store=$(realpath "$3")
fail() {
  echo "packages: $*" >&2
  exit 1
}
for tool in dpkg cpack gzip dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "packages: needs $tool" >&2; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
export PATH=$PATH:/usr/sbin:/sbin LC_ALL=C

# A copy: CPack writes into the build, which other tests may use at the same time.
version=$(sed -n 's/^project(Tilewright VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
abi=${version%%.*}
mkdir "$work/debs"
(cd "$work" && cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/debs" \
  -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >cpack.log 2>&1) || fail "cpack: $(cat "$work/cpack.log")"
cd "$work"
names="tilewright tilewright-runner libtilewright$abi libtilewright-dev libtilewright-tuner$abi libtilewright-tuner-dev"
for name in $names; do
  compgen -G "debs/${name}_$version-1_*.deb" >/dev/null || fail "no package $name: $(ls debs)"
done

# The runner must not depend on libraries that a board lacks, such as LLVM.
needs=$(dpkg-deb -f debs/tilewright-runner_*.deb Depends)
[ -z "$(tr ',' '\n' <<<"$needs" | grep -vE '^ *(libc6|libfmt9) ')" ] || fail "tilewright-runner depends on $needs"

# dpkg's list of this machine gives the installed packages.
root=$work/root
mkdir -p "$root/var/lib/dpkg/"{info,updates,triggers} "$root/var/log"
awk 'BEGIN { RS = ""; ORS = "\n\n" } !/^Package: (lib)?tilewright/' /var/lib/dpkg/status >"$root/var/lib/dpkg/status"
touch "$root/var/lib/dpkg/available"
in_root() {
  dpkg --root="$root" --log="$work/dpkg.log" --force-not-root --force-script-chrootless "$@" >dpkg.out 2>&1 ||
    fail "dpkg $*: $(cat dpkg.out)"
}
if dpkg --root="$root" --log="$work/dpkg.log" --force-not-root -i debs/libtilewright-dev_*.deb >dpkg.out 2>&1; then
  fail "libtilewright-dev is installed without its library"
fi
in_root --remove libtilewright-dev
in_root -i debs/*.deb
for name in $names; do
  dpkg-query --admindir="$root/var/lib/dpkg" -W -f='${db:Status-Status}' "$name" | grep -qx installed || fail "$name is not installed"
  (cd "$root" && md5sum --quiet -c var/lib/dpkg/info/"$name"{,:*}.md5sums 2>&1 | grep -v "No such file") && fail "$name: files are not as packed"
  for file in copyright changelog.Debian.gz; do
    [ -s "$root/usr/share/doc/$name/$file" ] || fail "$name has no $file"
  done
done
[ -z "$(find "$root/usr" -not -perm -o=r ! -type l)" ] || fail "not readable by all: $(find "$root/usr" -not -perm -o=r)"

# The service unit of workers, checked by systemd without starting it.
if command -v systemd-analyze >/dev/null; then
  unit=$work/tilewright-worker.service
  packed=$(find "$root" -path '*/systemd/system/tilewright-worker.service')
  sed "s,^ExecStart=/usr/bin,ExecStart=$root/usr/bin," "$packed" >"$unit"
  grep -q "^ExecStart=$root/usr/bin/tilewright worker --fleet" "$unit" || fail "the unit starts something else"
  systemd-analyze verify --man=no "$unit" >out 2>&1 || fail "the unit: $(cat out)"
  [ ! -s out ] || fail "the unit: $(cat out)"  # unknown options only cause warnings
fi

# In an empty folder, as the user nobody if the test runs as root.
mkdir "$work/home" && cp "$make_store" "$work/make_store" && cp -r "$source/tests/consumer" "$source/docs/examples" "$work/"
user=()
if [ "$(id -u)" -eq 0 ]; then
  chown -R nobody "$work/home" "$work/consumer" "$work/examples"
  user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
as_user() { (cd "$work/home" && "${user[@]}" env -i PATH="$root/usr/bin:/usr/bin:/bin" HOME="$work/home" LC_ALL=C \
  ${library_path:+LD_LIBRARY_PATH="$library_path"} "$@"); }
as_user tilewright version | grep -qF "tilewright $version" || fail "another version"
[ "$(as_user tilewright-runner --version)" = "tilewright-runner $version" ] || fail "the runner has another version"
as_user tilewright model squeezenet1_1 -o net.onnx >out
as_user tilewright tune net.onnx#3 --trials 4 --strategy random >out 2>err || fail "tune: $(cat err)"
as_user tilewright query net.onnx#3 >out || fail "query: $(cat out)"
as_user tilewright query net.onnx#4 --target rasp4b64 --accept default >out || fail "a board is not known: $(cat out)"
as_user tilewright compile net.onnx -o net.so >out 2>&1 || fail "compile: $(cat out)"
# The model predicts for processors like those it was trained on, whatever this machine is.
as_user tilewright query net.onnx#4 --target 'llvm -mcpu=skylake-avx512' --no-packages --accept default >out || fail "query: $(cat out)"
grep -q "$root/usr/share/tilewright/cost_models/llvm.model" out || fail "the shipped cost model is not used: $(cat out)"
as_user tilewright run net.so --json >out || fail "run: $(cat out)"
as_user tilewright doctor --json >out || [ $? -eq 1 ] || fail "doctor: $(cat out)"
grep -q '"name":"clock source"' out || fail "doctor: $(cat out)"
as_user tilewright tune net.onnx#4 --trials 2 --strategy random --runner tilewright-runner >out 2>err || fail "by the runner: $(cat err)"

# Pages and completion of every command that --help names.
commands=$(as_user tilewright --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 15 ] || fail "commands: $commands"
for command in $commands; do
  page=$root/usr/share/man/man1/tilewright-$command.1.gz
  [ -s "$page" ] || fail "no page of $command"
  if command -v man >/dev/null; then
    # Without warnings about lines that do not fit a terminal of 80 columns.
    MANROFFSEQ='' MANWIDTH=120 man --warnings -l -E UTF-8 -Tutf8 "$page" 2>warnings >/dev/null || true
    [ ! -s warnings ] || fail "page of $command: $(cat warnings)"
  fi
done
completion=$root/usr/share/bash-completion/completions/tilewright
complete_words() { # complete_words WORD...: bash completions of the last word
  bash -c 'source "$0"; COMP_WORDS=(tilewright "$@"); COMP_CWORD=$#; _tilewright; printf "%s\n" "${COMPREPLY[@]}"' "$completion" "$@"
}
[ "$(complete_words doct)" = doctor ] || fail "bash completes doct to $(complete_words doct)"
complete_words records mer | grep -qx merge || fail "bash knows no verb of records"
complete_words records merge --js | grep -qx -- --json || fail "bash knows no option of records merge"
complete_words run --image-fit cr | grep -qx crop || fail "bash knows no value of --image-fit"
if command -v zsh >/dev/null; then
  zsh -n "$root/usr/share/zsh/vendor-completions/_tilewright" || fail "zsh cannot read its completion"
fi
if command -v fish >/dev/null; then
  file=$root/usr/share/fish/vendor_completions.d/tilewright.fish
  fish --no-execute "$file" || fail "fish cannot read its completion"
  HOME=$work/home fish -c "source $file; complete -C 'tilewright records mer'" | grep -q ^merge || fail "fish knows no verb of records"
fi

# External programs, built by pkg-config and by CMake, run with the library of the package.
library_path=$(dirname "$(find "$root/usr/lib" -name libtilewright.so)")
as_user "$work/make_store" records.db
key='conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32'
flags=$(PKG_CONFIG_LIBDIR=$library_path/pkgconfig pkg-config --cflags --libs tilewright)
[ "$(PKG_CONFIG_LIBDIR=$library_path/pkgconfig pkg-config --modversion tilewright)" = "$version" ] || fail "pkg-config has another version"
# shellcheck disable=SC2086 # words on purpose
as_user cc -std=c99 "$work/examples/query.c" $flags -o query_c
as_user ./query_c records.db "$key" | grep -q '^hit' || fail "query_c: no hit"
as_user cmake -S "$work/consumer" -B built -DCMAKE_PREFIX_PATH="$root/usr" -DCMAKE_BUILD_TYPE=Debug >log 2>&1 || fail "$(cat log)"
as_user cmake --build built >log 2>&1 || fail "$(cat log)"
as_user built/tiny_compiler records.db "$work/consumer/operators.txt" code >out || fail "tiny_compiler: $(cat out)"
grep -q '^hit' out || fail "tiny_compiler: $(cat out)"

# The next version: the same files under another version number.
later=$abi.99.0-1
mkdir later
for deb in debs/*.deb; do
  rm -rf unpacked
  dpkg-deb -R "$deb" unpacked
  sed -i "s/$version-1/$later/g" unpacked/DEBIAN/control
  dpkg-deb -Znone --root-owner-group -b unpacked later >/dev/null
done
# Files that readers leave next to a store may appear and disappear.
users_files() { (cd "$work/home" && find . -type f ! -name "*-shm" ! -name "*-wal" -print0 | sort -z | xargs -0 sha256sum); }
before=$(users_files)
in_root -i later/*.deb
for name in $names; do
  [ "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f='${Version}' "$name")" = "$later" ] || fail "$name was not upgraded"
done
library_path="" as_user tilewright query net.onnx#3 >out || fail "query after the upgrade: $(cat out)"
library_path=$(dirname "$(find "$root/usr/lib" -name libtilewright.so)") as_user ./query_c records.db "$key" >out || fail "query_c after the upgrade"
# shellcheck disable=SC2086 # words on purpose
in_root --purge $names
[ -z "$(find "$root/usr" "$root/lib" "$root/etc" -type f 2>/dev/null)" ] || fail "left behind: $(find "$root/usr" -type f)"
changed=$(diff <(echo "$before") <(users_files) || true)
[ -z "$changed" ] || fail "the user's files were touched: $changed"

# Debian's requirements for packages; .ci/run installs the checker.
looked="lintian is not here (scripts/setup.sh --with-packages)"
if command -v lintian >/dev/null; then
  lintian --fail-on error,warning debs/*.deb >out 2>&1 || fail "lintian: $(cat out)"
  looked="lintian finds nothing"
fi
echo "installed, used, upgraded and removed: $(du -ch debs/*.deb | tail -n 1 | cut -f1) of packages; $looked"
