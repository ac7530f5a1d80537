#!/usr/bin/env bash
# other_release.sh RELEASE [-o REPORT] [--fresh] [--only STEP,...]: sets up, builds, tests and packages HEAD in
# another Debian release (e.g. trixie), in root folders made by debootstrap below build/other/RELEASE.
#   -o REPORT   also writes the report to this file
#   --fresh     makes the root folders again
#   --only      runs only these of the steps setup, tests, packages, install, portable
# Needs root and debootstrap. The mirror and the settings of apt are those of this machine. Commands run in
# namespaces of mounts and processes of their own: at the end, also of a killed run, nothing stays mounted
# and no process is left. The tests are those of the optimized build. Sanitizers instrument the same sources
# on Debian 12 (scripts/test.sh).
# Ends with "RELEASE: passed" (exit code 0) or "RELEASE: failed" (1).
set -euo pipefail
cd "$(dirname "$0")/.."
fail() {
  echo "other_release: $*" >&2
  exit 2
}

release="" report="" fresh="" only=setup,tests,packages,install,portable
arguments=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    -o) report=${2:?-o needs a file} && shift ;;
    --fresh) fresh=1 ;;
    --only) only=${2:?--only needs steps} && shift ;;
    -*) fail "'$1': expected -o REPORT, --fresh or --only STEP,..." ;;
    *) release=$1 ;;
  esac
  shift
done
[[ $release =~ ^[a-z]+$ ]] || fail "expected the name of a Debian release, e.g. trixie"
[ "$(id -u)" -eq 0 ] || fail "needs root for debootstrap and mounts"
for tool in debootstrap git unshare setpriv pivot_root; do
  command -v "$tool" >/dev/null || fail "no $tool here: install the packages debootstrap, git and util-linux"
done

# Everything below runs as process 1 of a process namespace, which ends with it. --pdeathsig and
# --kill-child end it if this process is killed.
if [ -z "${OTHER_RELEASE_INSIDE:-}" ]; then
  set -m # else background processes ignore SIGINT, and so would the tested programs
  OTHER_RELEASE_INSIDE=1 setpriv --pdeathsig KILL \
    unshare --mount --pid --fork --kill-child=KILL "$0" "${arguments[@]}" </dev/null &
  child=$!
  trap 'kill -KILL "$child" 2>/dev/null || true' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  code=0
  wait "$child" || code=$?
  exit "$code"
fi

folder=$PWD/build/other/$release
[ -z "$fresh" ] || rm -rf "$folder"/{base,build,install,portable,index}
mkdir -p "$folder"/{ccache,archives,output}
report_lines=$folder/output/report.txt
: >"$report_lines"
say() { printf '%s\n' "$*" | tee -a "$report_lines"; }

# enter ROOT COMMAND...: runs a command with ROOT as /. pivot_root, because the kernel refuses user
# namespaces, which the sandbox of candidates uses, to processes in a chroot.
enter() {
  local root=$1
  shift
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount bash -euc '
    root=$1 caches=$2
    shift 2
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mkdir -p "$root/var/cache/ccache"
    mount --bind "$caches/ccache" "$root/var/cache/ccache"
    mount --bind "$caches/archives" "$root/var/cache/apt/archives"
    cd "$root"
    pivot_root . .
    umount -l .
    cd /
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
      DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/var/cache/ccache "$@"
  ' enter "$root" "$folder" "$@"
}

# The sources of apt on this machine, with the other release instead of this one.
host_release=$(. /etc/os-release && echo "${VERSION_CODENAME:?}")
apt_sources() { # lines "URI SUITE COMPONENTS"
  # shellcheck disable=SC2016 # expanded by apt
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v from="$host_release" -v to="$release" '
      $2 == from || index($2, from "-") == 1 {
        sub(from, to, $2)
        key = $1 " " $2
        if (!(key in components)) order[++n] = key
        if (index(" " components[key] " ", " " $3 " ") == 0) components[key] = components[key] " " $3
      }
      END { for (i = 1; i <= n; i++) print order[i] components[order[i]] }'
}

# Gives a root the sources, settings, proxies, certificates and passwords of apt on this machine.
configure_apt() {
  local root=$1 file
  apt_sources | sed 's/^/deb /' >"$root/etc/apt/sources.list"
  apt-config dump | grep -E '^(Acquire|APT::Sandbox|Binary::apt::Acquire)\b.* "..*";$' >"$root/etc/apt/apt.conf.d/00host"
  for file in /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt \
    /usr/local/share/ca-certificates; do
    [ -e "$file" ] || continue
    mkdir -p "$root$(dirname "$file")"
    rm -rf "$root$file"
    cp -rL "$file" "$root$file"
  done
}

if [ ! -e "$folder/base/etc/os-release" ]; then
  mirror=$(apt_sources | awk -v release="$release" '$2 == release { print $1; exit }')
  [ -n "$mirror" ] || fail "apt has no source of $host_release to take the address of the mirror from"
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  [ -z "${http_proxy:-}" ] || export http_proxy
  [ -z "${https_proxy:-}" ] || export https_proxy
  rm -rf "$folder/base.part"
  debootstrap --variant=minbase "$release" "$folder/base.part" "$mirror" >"$folder/output/debootstrap.log" 2>&1 || {
    tail -n 20 "$folder/output/debootstrap.log" >&2
    fail "debootstrap failed"
  }
  mv "$folder/base.part" "$folder/base"
fi
configure_apt "$folder/base"
enter "$folder/base" bash -ec 'apt-get update -qq && apt-get dist-upgrade -y -qq' >"$folder/output/base.log" 2>&1 || {
  tail -n 20 "$folder/output/base.log" >&2
  fail "apt-get failed in the root folder"
}
# new_root NAME: a copy of the base folder.
new_root() {
  rm -rf "${folder:?}/$1"
  cp -a --reflink=auto "$folder/base" "$folder/$1"
}
[ -e "$folder/build/etc/os-release" ] || new_root build
configure_apt "$folder/build"
build=$folder/build

# The files of HEAD. Those that did not change keep their times, so that only what changed is built again.
[ -e "$build/src/tree/CMakeLists.txt" ] || rm -f "$folder/index"
mkdir -p "$build/src/tree"
GIT_INDEX_FILE=$folder/index git --work-tree="$build/src/tree" read-tree --reset -u HEAD
if [ -d ../shared ]; then
  rm -rf "$build/src/shared"
  cp -r ../shared "$build/src/shared"
fi

failures=0
# step NAME COMMAND...: runs a step if it was asked for, keeps its output and reports how it ended.
step() {
  local name=$1 begin=$SECONDS code=0
  shift
  [[ ,$only, == *,$name,* ]] || return 0
  "$@" >"$folder/output/$name.log" 2>&1 || code=$?
  "report_$name" "$folder/output/$name.log" || true
  if [ "$code" -eq 0 ]; then
    say "$name: passed ($((SECONDS - begin)) s)"
  else
    failures=$((failures + 1))
    tail -n 40 "$folder/output/$name.log" >&2
    say "$name: FAILED with exit code $code ($((SECONDS - begin)) s); output: $name.log"
  fi
  say ""
}

setup() { enter "$build" bash -c 'cd /src/tree && ./scripts/setup.sh --with-cross --with-browser --with-fleet --with-packages'; }
report_setup() {
  say "== versions in the root folder"
  enter "$build" dpkg-query -W -f='${Package} ${Version}\n' libc6 g++ llvm-19-dev libxgboost-dev libonnx-dev libprotobuf-dev \
    libsqlite3-dev nlohmann-json3-dev libcli11-dev libfmt-dev libgtest-dev libbenchmark-dev libzstd-dev libsodium-dev \
    libpng-dev libturbojpeg0-dev libjs-chart.js libdnnl-dev nats-server libnats-dev qemu-user chromium lintian cmake ccache |
    while read -r package version; do say "$(printf '%-20s %s' "$package" "$version")"; done
}

tests() { enter "$build" bash -c 'cd /src/tree && ./scripts/test.sh --no-skips --optimized'; }
report_tests() {
  say "== tests (scripts/test.sh --no-skips --optimized)"
  grep -E '^(==|FAILED|build/release: |[0-9]+ of these|[0-9]+ passed)' "$1" | while read -r line; do say "$line"; done
}

packages() { enter "$build" bash -c 'cd /src/tree && ./scripts/package.sh --cross --lint'; }
report_packages() {
  say "== packages (scripts/package.sh --cross --lint)"
  grep -E '\.deb$|^[EW]: ' "$1" | while read -r line; do say "$line"; done
}

# Typical commands of a user, in an empty folder, not as root.
cat >"$folder/output/use.sh" <<'END'
set -euo pipefail
export PATH=$1:$PATH LC_ALL=C
cd "$(mktemp -d)"
export HOME=$PWD
show() { echo "\$ $*" && "$@" >out 2>err || { code=$?; cat out err; echo "exit code $code"; exit 1; }; tail -n "${lines:-1}" out; }
show tilewright version
show tilewright model squeezenet1_1 -o net.onnx
lines=6 show tilewright tune net.onnx --records trials.db --trials 16
show tilewright compile net.onnx --records trials.db -o net.so
lines=2 show tilewright verify net.onnx net.so
lines=6 show tilewright run net.so
END
use() { # use ROOT FOLDER_OF_PROGRAM
  install -m 644 "$folder/output/use.sh" "$1/tmp/use.sh"
  enter "$1" setpriv --reuid=nobody --regid=nogroup --clear-groups bash /tmp/use.sh "$2"
}
report_use() { sed -n '/^\$ tilewright version/,$p' "$1" | while IFS= read -r line; do say "$line"; done; }

install_packages() {
  local name architecture
  new_root install
  configure_apt "$folder/install"
  architecture=$(enter "$build" dpkg --print-architecture)
  mkdir "$folder/install/packages"
  cp "$build"/src/tree/build/packages/*_"$architecture".deb "$folder/install/packages/"
  enter "$folder/install" bash -ec 'apt-get update -qq && apt-get install -y --no-install-recommends /packages/*.deb'
  use "$folder/install" /usr/bin
  name=$(cd "$folder/install/packages" && printf '%s\n' *.deb | sed 's/_.*//')
  # shellcheck disable=SC2086 # words on purpose
  enter "$folder/install" apt-get purge -y $name
  ! find "$folder/install/usr" -name '*tilewright*' | grep . || { echo "files of packages are left" && return 1; }
}
report_install() {
  say "== packages installed by apt in another root folder, used as nobody, and removed"
  grep -E '^[0-9]+ upgraded, .* newly installed' "$1" | head -n 1 | while read -r line; do say "$line"; done
  sed -n '/^\$ tilewright version/,/^Reading package lists/p' "$1" | grep -v '^Reading package' | while IFS= read -r line; do say "$line"; done
}

portable() {
  local archive=$1 program
  new_root portable
  mkdir "$folder/portable/opt/portable"
  tar --zstd -xf "$archive" -C "$folder/portable/opt/portable"
  program=$(cd "$folder/portable" && find opt/portable -type f -path '*/bin/tilewright' | head -n 1)
  [ -n "$program" ] || { echo "no bin/tilewright in $archive" && return 1; }
  use "$folder/portable" "/$(dirname "$program")"
}
report_portable() {
  say "== portable archive of $host_release, unpacked in a root folder without further packages"
  report_use "$1"
}

say "Debian $release: set-up, build, tests and packages, by scripts/other_release.sh $release"
say "commit $(git rev-parse --short=12 HEAD); $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) threads;" \
  "kernel $(uname -r); Debian $(cat "$build/etc/debian_version") in a root folder on Debian $(cat /etc/debian_version)"
say ""
step setup setup
step tests tests
step packages packages
step install install_packages
archive=$(compgen -G "build/packages/tilewright-*-linux-x86_64.tar.zst" | tail -n 1 || true)
if [ -n "$archive" ]; then
  step portable portable "$PWD/$archive"
elif [[ ,$only, == *,portable,* ]]; then
  say "portable: skipped: no build/packages/tilewright-*-linux-x86_64.tar.zst"
fi
[ "$failures" -eq 0 ] && say "$release: passed" || say "$release: failed"
[ -z "$report" ] || cp "$report_lines" "$report"
[ "$failures" -eq 0 ]
