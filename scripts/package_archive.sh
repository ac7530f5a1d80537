#!/usr/bin/env bash
# package_archive.sh [--quick | --visit] BUILD FOLDER: packs a build as a portable archive and as a wheel:
#   FOLDER/tilewright-VERSION-linux-MACHINE.tar.zst
#   FOLDER/tilewright-VERSION-py3-none-manylinux_2_36_MACHINE.whl
# Both run on every Linux with glibc 2.36 or newer. scripts/package.sh calls this script; SOURCE_DATE_EPOCH
# must be set. --quick compresses the archive in a tenth of the time, to a sixth more.
# --visit: makes FOLDER/tilewright-VERSION-gpu-visit-linux-MACHINE.tar.xz instead: the archive with the programs and
# the script of a visit to a machine with a GPU (docs/gpu.md), and with the log of $TILEWRIGHT_SHARED/data/tophub
# (default ../shared) where that is there. All of them hold
#   bin/             tilewright and tilewright-runner
#   lib/             libtilewright.so.1, libtilewright_tuner.so.1, files for CMake and pkg-config
#   lib/tilewright/  bundled shared libraries, found by a DT_RUNPATH relative to $ORIGIN
#   include/ share/  headers; data, manual pages, completion, licences
# Bundled libraries have the prefix libtw- in name and SONAME. The loader matches libraries by SONAME: under
# their own names, an older bundled libstdc++ or libssl would replace that of a program that loads
# libtilewright.so.1, and LD_LIBRARY_PATH or the program's libraries would replace bundled ones.
set -euo pipefail
cd "$(dirname "$0")/.."

level=-19
[ "${1:-}" != "--quick" ] || { level=-12 && shift; }
visit=""
[ "${1:-}" != "--visit" ] || { visit=1 && shift; }
build=$(realpath "${1:?package_archive: needs the folder of a build}")
folder=$(realpath "${2:?package_archive: needs a folder for the results}")
fail() {
  echo "package_archive: $*" >&2
  exit 1
}
[ -n "${SOURCE_DATE_EPOCH:-}" ] || fail "SOURCE_DATE_EPOCH is not set: scripts/package.sh sets it"
for tool in patchelf 7z zstd readelf dpkg-query; do
  command -v $tool >/dev/null || fail "no $tool; scripts/setup.sh --with-packages installs it"
done
export LC_ALL=C TZ=UTC0
umask 022

version=$(sed -n 's/^project(Tilewright VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
major=${version%%.*}
machine=$(uname -m)
glibc=2.36 # of Debian 12
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=tilewright-$version-linux-$machine
tree=$work/$name
bundle=$tree/lib/tilewright

cmake --install "$build" --component archive --strip --prefix "$tree" >"$work/log" || fail "$(cat "$work/log")"
if [ -n "$visit" ]; then
  for program in gpu_visit simt_check expression_check; do
    install -s "$build/bench/$program" "$tree/bin/$program" || fail "no $build/bench/$program (-DTILEWRIGHT_BENCH=ON)"
  done
  mkdir "$tree/visit"
  cp scripts/gpu_visit.sh bench/gpu_visit/* "$tree/visit/"
  log=${TILEWRIGHT_SHARED:-../shared}/data/tophub/cuda_v0.10.log
  if [ -f "$log" ]; then cp "$log" "$tree/visit/"; else echo "package_archive: no $log: a visit goes without it" >&2; fi
fi
# A wheel cannot hold symbolic links. The file of a library has the name that programs load, and a linker
# script serves `-ltilewright`.
for library in libtilewright libtilewright_tuner; do
  mv "$tree/lib/$library.so.$version" "$tree/lib/$library.so.$major"
  echo "INPUT($library.so.$major)" >"$tree/lib/$library.so"
done
sed -i "s/\.so\.${version//./\\.}/.so.$major/g" "$tree"/lib/cmake/Tilewright/*-release.cmake

# --- LLVM. Debian's shared library holds every target and needs Z3, libxml2 and ICU. This links a library
# with the same SONAME and symbol version from the static archives of the same package. It exports only the
# symbols that our files import, and holds only the code generators for X86, Arm (64 and 32 bits) and NVIDIA,
# without assembly parsers, which only LTO in the linker would call.
kept='X86|AArch64|ARM|NVPTX'
cmake_of_llvm=$(sed -n 's/^LLVM_DIR:[A-Z]*=//p' "$build/CMakeCache.txt")
llvm=""
for place in "$cmake_of_llvm/../lib" "$cmake_of_llvm/../.."; do
  [ ! -f "$place/libLLVMCore.a" ] || llvm=$(realpath "$place")
done
[ -n "$llvm" ] || fail "no static archives of LLVM beside $cmake_of_llvm (package llvm-19-dev)"
whole=$(ldd "$build/python_free_cli/tilewright" | sed -n 's|.*libLLVM\.so\.[0-9.]* => \([^ ]*\) .*|\1|p')
[ -f "$whole" ] || fail "the program of this build does not load libLLVM"
soname=${whole##*/}
users=("$tree"/bin/* "$tree"/lib/*.so."$major")
nm -D "${users[@]}" | sed -n 's/.* \([^ ]*\)@\(LLVM_[0-9.]*\)$/\1 \2/p' | sort -u >"$work/imports"
node=$(cut -d' ' -f2 "$work/imports" | sort -u)
[ "$(wc -w <<<"$node")" = 1 ] || fail "imports from LLVM have the versions '$node', expected one"
cut -d' ' -f1 "$work/imports" >"$work/needed"
# Template instances that LLVM and our files both define stay exported: their addresses must be equal.
nm -D --defined-only "$whole" | sed -n 's/.* \([^ ]*\)@@LLVM_.*/\1/p' | sort -u >"$work/offered"
nm -D --defined-only "${users[@]}" | awk 'NF == 3 { print $3 }' | sort -u | comm -12 - "$work/offered" >"$work/common"
# InitializeAllTargets and its siblings also call the functions of targets that are left out.
grep '^LLVMInitialize' "$work/needed" |
  grep -vE "^LLVMInitialize($kept)(TargetInfo|TargetMC|Target|AsmPrinter)$" >"$work/without" || true
sed 's/.*/void &(void) {}/' "$work/without" | cat - <(echo 'typedef int tilewright_no_empty_file;') >"$work/without.c"
# Debian's LTO code, which the linker in the program refers to, registers Polly's passes.
cat >"$work/polly.cc" <<'END'
#include <llvm/Passes/PassPlugin.h>
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "", [](llvm::PassBuilder&) {}};
}
END
{
  echo "$node { global:"
  sort -u "$work/needed" "$work/common" | sed 's/$/;/'
  echo "local: *; };"
} >"$work/exports.map"
comm -23 "$work/needed" "$work/without" | sed 's/^/-Wl,-u,/' >"$work/undefined"
flags=(-O2 -fPIC -ffunction-sections -fdata-sections)
gcc "${flags[@]}" -c "$work/without.c" -o "$work/without.o"
g++ -std=c++17 -fno-rtti "${flags[@]}" -I"$llvm/../include" -c "$work/polly.cc" -o "$work/polly.o"
g++ -shared -o "$bundle/$soname" "-Wl,-soname,$soname,--version-script=$work/exports.map,--gc-sections" \
  -Wl,-O2,-Bsymbolic-functions,-z,relro,-z,now,-z,defs,-z,pack-relative-relocs \
  -Wl,--as-needed,--build-id=none,--strip-all \
  "@$work/undefined" "$work/without.o" "$work/polly.o" \
  -Wl,--start-group "$llvm"/libLLVM*.a -Wl,--end-group -lzstd -lz -lm

# --- The other shared libraries, as Debian ships them, and the packages that they come from.
is_of_libc() { [[ $1 =~ ^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so\.[0-9]+$ ]]; }
needs() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
declare -A packages=([llvm-19-dev]="$soname" [liblld-19-dev]="the linker in tilewright"
  [libcli11-dev]="headers" [nlohmann-json3-dev]="headers")
grep -q 'TILEWRIGHT_CHART_JS:FILEPATH=/' "$build/CMakeCache.txt" && packages[libjs-chart.js]="charts of reports"
files=("${users[@]}" "$bundle/tuner-worker" "$bundle/$soname")
for ((i = 0; i < ${#files[@]}; ++i)); do
  for needed in $(needs "${files[i]}"); do
    if is_of_libc "$needed" || [ -e "$bundle/$needed" ]; then continue; fi
    place=$(ldd "${files[i]}" | awk -v name="$needed" '$1 == name && $2 == "=>" { print $3 }')
    place=$(realpath -e "$place") || fail "$needed, which ${files[i]##*/} needs, is not on this machine"
    # dpkg lists some files of /usr/lib as /lib.
    package=$({ dpkg-query -S "$place" "${place#/usr}" 2>/dev/null || true; } | sed -n '1s/[:,].*//p')
    [ -n "$package" ] || fail "$place is of no Debian package: its licence is unknown"
    packages[$package]="${packages[$package]:+${packages[$package]}, }$needed"
    install -m 755 "$place" "$bundle/$needed"
    files+=("$bundle/$needed")
  done
done
# Prefix and DT_RUNPATH. Each call of patchelf makes one kind of change: version 0.14 writes wrong strings
# if it makes two.
for file in "${files[@]}"; do
  case $file in
    */bin/*) patchelf --set-rpath "\$ORIGIN/../lib/tilewright" "$file" ;;
    */lib/tilewright/*) patchelf --set-rpath "\$ORIGIN" "$file" ;;
    *) patchelf --set-rpath "\$ORIGIN/tilewright" "$file" ;;
  esac
  renames=()
  for needed in $(needs "$file"); do
    is_of_libc "$needed" || renames+=(--replace-needed "$needed" "libtw-${needed#lib}")
  done
  [ ${#renames[@]} -eq 0 ] || patchelf "${renames[@]}" "$file"
  own=${file##*/}
  if [[ $file == "$bundle"/lib* ]]; then
    patchelf --set-soname "libtw-${own#lib}" "$file"
    mv "$file" "$bundle/libtw-${own#lib}"
    chmod 644 "$bundle/libtw-${own#lib}"
  fi
done
newest=$({ find "$tree/bin" "$tree/lib" -type f -exec readelf -V {} + 2>/dev/null || true; } | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
[ "$(printf '%s\n' "GLIBC_$glibc" "$newest" | sort -V | tail -n 1)" = "GLIBC_$glibc" ] ||
  fail "these files need $newest, and may need glibc $glibc at most: build on Debian 12"

# --- Licences of all parts, with the texts that Debian's copyright files refer to.
licences=$tree/share/doc/tilewright/licences
mkdir -p "$licences"
{
  echo "Parts of other projects, by Debian package (source package=version): files. The file PACKAGE has the"
  echo "licence. \`apt-get source SOURCE=VERSION\` on Debian 12 gets the source."
  echo
  for package in $(printf '%s\n' "${!packages[@]}" | sort); do
    cp "/usr/share/doc/$package/copyright" "$licences/$package" 2>/dev/null || fail "$package has no licence in /usr/share/doc"
    dpkg-query -W -f='${Package} (${source:Package}=${source:Version}): ' "$package"
    echo "${packages[$package]}"
  done
} >"$licences/README"
# A path at the end of a sentence has a full stop.
texts=$(grep -oh '/usr/share/common-licenses/[A-Za-z0-9.-]*' "$licences"/* | sed 's/\.$//' | sort -u)
mkdir "$licences/common"
for text in $texts; do
  cp -L "$text" "$licences/common/" 2>/dev/null || fail "no $text, which a licence refers to"
done

# --- The archive. The same build gives the same bytes.
find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
if [ -n "$visit" ]; then
  # xz, which every system can unpack. As large as what travels with the source tree may be.
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | xz -6 -T0 >"$folder/tilewright-$version-gpu-visit-linux-$machine.tar.xz"
  exit 0
fi
rm -f "$folder"/tilewright-*.tar.zst "$folder"/tilewright-*.whl
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --format=gnu -cf "$work/archive.tar" "$name"
# Every decoder accepts windows of up to 128 MiB (27 bits) by default.
zstd -q $level --long=27 -T0 "$work/archive.tar" -o "$folder/$name.tar.zst"

# --- The wheel. pip installs .data/scripts as bin/ and .data/data as its siblings, as in the archive.
wheel=$work/wheel
data=$wheel/tilewright-$version.data
info=$wheel/tilewright-$version.dist-info
mkdir -p "$data/data" "$info"
mv "$tree/bin" "$data/scripts"
mv "$tree"/* "$data/data/"
cat >"$info/METADATA" <<END
Metadata-Version: 2.1
Name: tilewright
Version: $version
Summary: Autotuner and schedule search for tensor operators
License: Apache-2.0
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Requires-Python: >=3
Description-Content-Type: text/markdown

Tilewright finds fast schedules for the tensor operators of neural networks by measuring candidates, keeps
them, and compiles networks with them. This wheel installs the commands \`tilewright\` and
\`tilewright-runner\`, the C and C++ libraries with their headers, and no Python code. It runs on Linux with
glibc $glibc or newer. Licences of all parts are in \`share/doc/tilewright/licences\`.
END
cat >"$info/WHEEL" <<END
Wheel-Version: 1.0
Generator: tilewright
Root-Is-Purelib: false
Tag: py3-none-manylinux_${glibc/./_}_$machine
END
cd "$wheel"
find . -type f -printf '%P\n' | sort | while read -r file; do
  hash=$(sha256sum "$file" | sed 's/ .*//; s/../\\x&/g')
  # shellcheck disable=SC2059 # bytes on purpose
  echo "$file,sha256=$(printf "$hash" | base64 | tr '+/' '-_' | tr -d '='),$(stat -c %s "$file")"
done >"$work/RECORD"
echo "tilewright-$version.dist-info/RECORD,," >>"$work/RECORD"
mv "$work/RECORD" "$info/RECORD"
find . -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
# 7-Zip's deflate is 3 % smaller than that of zip; every installer reads it.
find . -type f -printf '%P\n' | sort >"$work/files"
rm -f "$folder/tilewright-$version"-*.whl
7z a -tzip -mx=9 -mfb=258 -mpass=6 -mtc=off -bd -bso0 -scsUTF-8 \
  "$folder/tilewright-$version-py3-none-manylinux_${glibc/./_}_$machine.whl" "@$work/files"
