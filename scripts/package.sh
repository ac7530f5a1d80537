#!/usr/bin/env bash
# package.sh [--only debs|archive|visit] [--quick] [--cross] [--lint] [--built BUILD] [-o FOLDER]: makes the portable
# archive, the wheel and the Debian packages tilewright, libtilewright1, libtilewright-dev, libtilewright-tuner1,
# libtilewright-tuner-dev and tilewright-runner in FOLDER (default build/packages). Needs what scripts/setup.sh
# --with-packages installs.
#   --only         just the Debian packages, or just archive and wheel (scripts/package_archive.sh), or what a
#                  visit to a machine with a GPU needs (docs/gpu.md), which is made in no other way
#   --quick        compresses the archive in a tenth of the time, to a sixth more
#   --cross        also tilewright-runner for arm64 and armhf (scripts/setup.sh --with-cross)
#   --lint         fails if lintian finds anything (scripts/setup.sh --with-packages)
#   --built BUILD  packs what is built there already, instead of building build/release
set -euo pipefail
cd "$(dirname "$0")/.."

cross="" lint="" build=build/release built="" folder=build/packages only="" quick=()
while [ $# -gt 0 ]; do
  case $1 in
    --only)
      only=${2:-} && shift
      [[ $only == debs || $only == archive || $only == visit ]] || { echo "package: --only '$only': expected debs, archive or visit" >&2; exit 2; }
      ;;
    --quick) quick=(--quick) ;;
    --cross) cross=1 ;;
    --lint) lint=1 ;;
    --built) built=1 build=${2:?--built needs a folder} && shift ;;
    -o) folder=${2:?-o needs a folder} && shift ;;
    *) echo "package: '$1': expected --only, --quick, --cross, --lint, --built BUILD or -o FOLDER" >&2; exit 2 ;;
  esac
  shift
done
# The same source gives the same packages: dates in them are that of the changelog's newest entry.
SOURCE_DATE_EPOCH=$(date -d "$(sed -n 's/^ -- .*>  //p' packaging/changelog | head -n 1)" +%s)
export SOURCE_DATE_EPOCH

version=$(sed -n 's/^project(Tilewright VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
if ! grep -q "^tilewright ($version-" packaging/changelog || ! grep -q "^## $version" CHANGELOG.md; then
  echo "package: packaging/changelog or CHANGELOG.md says nothing of version $version" >&2
  exit 1
fi

mkdir -p "$folder"
[[ $only == archive || $only == visit ]] || rm -f "$folder"/*.deb
# pack BUILD: what CPack makes of a build, with its words only if it fails.
pack() {
  rm -rf "$1/packages"
  (cd "$1" && cpack -G DEB >cpack.log 2>&1) || { cat "$1/cpack.log" >&2; exit 1; }
  mv "$1"/packages/*.deb "$folder/"
  rm -rf "$1/packages"
}

if [ -z "$built" ]; then
  libraries=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  more=()
  [ "$only" != visit ] || more=(gpu_visit simt_check expression_check)
  ./scripts/build.sh "$build" -DCMAKE_INSTALL_LIBDIR="$libraries" -- \
    tilewright tilewright_runner tilewright_shared tilewright_tuner tilewright_tuner_worker \
    tilewright_pages "${more[@]}"
fi
if [ "$only" = visit ]; then
  ./scripts/package_archive.sh --visit "$build" "$folder"
  du -h --apparent-size "$folder"/*-gpu-visit-*.tar.xz
  exit 0
fi
[ "$only" = debs ] || ./scripts/package_archive.sh "${quick[@]}" "$build" "$folder"
[ "$only" = archive ] || pack "$build"
if [ -n "$cross" ]; then
  for machine in aarch64-linux-gnu arm-linux-gnueabihf; do
    command -v "$machine-g++" >/dev/null || {
      echo "package: no $machine-g++; scripts/setup.sh --with-cross installs it" >&2
      exit 1
    }
    ./scripts/build.sh "build/package-$machine" -DTILEWRIGHT_RUNNER_ONLY=ON \
      -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$machine.cmake" \
      -DTILEWRIGHT_PAGES="$(realpath "$build")/python_free_cli/share/man/man1"
    pack "build/package-$machine"
  done
fi
(cd "$folder" && find . -maxdepth 1 \( -name '*.deb' -o -name '*.tar.zst' -o -name '*.whl' \) -printf '%P\n' | sort |
  xargs du -h --apparent-size --)
if [ -n "$lint" ]; then
  command -v lintian >/dev/null || { echo "package: no lintian; scripts/setup.sh --with-packages installs it" >&2; exit 1; }
  lintian --fail-on error,warning "$folder"/*.deb
fi
