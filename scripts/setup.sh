#!/usr/bin/env bash
# Installs the packages of Debian 12 or 13 that the project builds with. Does nothing when all are there.
set -euo pipefail

packages=(
  g++ cmake ninja-build
  llvm-19-dev liblld-19-dev libxgboost-dev libsqlite3-dev nlohmann-json3-dev
  libonnx-dev libprotobuf-dev protobuf-compiler libcli11-dev libfmt-dev
  libgtest-dev libgmock-dev libbenchmark-dev libzstd-dev libsodium-dev zlib1g-dev libpng-dev libturbojpeg0-dev
  sqlite3 pkg-config patch
)
# Optional: oneDNN, which tests and benchmarks of library calls load and the kernel benchmark links,
# what speeds builds up, and what draws the pages of reports.
optional=(libdnnl-dev ccache libjs-chart.js)
# An OpenCL device that is this processor, its headers and its loader: tests of OpenCL build, run and
# tune kernels on it.
optional+=(pocl-opencl-icd ocl-icd-opencl-dev opencl-headers clinfo)
# A browser, which tests of the pages lead: with what it needs 122 MB to download, 417 MB installed.
[[ " $* " == *" --with-browser "* ]] && packages+=(chromium)
# The compiler of tests under sanitizers: 14 MB to download, 105 MB installed.
[[ " $* " == *" --with-sanitizers "* ]] && packages+=(clang-19 libclang-rt-19-dev lld-19)
# What scripts/lint.sh runs: 50 MB to download, 250 MB installed.
[[ " $* " == *" --with-lint "* || " $* " == *" --with-format "* ]] && packages+=(clang-format-14)
[[ " $* " == *" --with-lint "* ]] && packages+=(clang-tidy-19)
[[ " $* " == *" --with-fuzzers "* ]] && packages+=(clang-14 libclang-rt-14-dev)
# Models, the runner and the examples for Arm boards, and their tests under emulation: 117 MB to
# download, 491 MB installed.
[[ " $* " == *" --with-cross "* ]] && packages+=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu
  gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf libc6-dev-arm64-cross libc6-dev-armhf-cross qemu-user)
# ... and what looks at packages, theirs and those of this machine: 1 MB to download, 7 MB installed, and Perl.
[[ " $* " == *" --with-cross "* || " $* " == *" --with-packages "* ]] && packages+=(lintian dpkg-dev)
# Fleets of machines: the broker, and its library for the program. tests/program/fleet_test.sh runs one.
[[ " $* " == *" --with-fleet "* ]] && packages+=(nats-server libnats-dev openssl)

# Tools that make the portable archive and the wheel, the empty Debian to test them in, a reader of
# manual pages, and the shells with completion in the packages.
[[ " $* " == *" --with-packages "* ]] && packages+=(patchelf p7zip-full unzip zstd debootstrap man-db zsh fish)

# The site of docs/ (scripts/docs.sh).
[[ " $* " == *" --with-docs "* ]] && packages+=(mkdocs)

missing=()
for package in "${packages[@]}" "${optional[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: need root to install: ${missing[*]}" >&2; exit 1; }
  root=(sudo)
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${root[@]}" apt-get update -qq
"${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
