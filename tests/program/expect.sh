# expect.sh: sourced by tests that use the program as its users do. Needs $tilewright. The test goes on
# in an empty folder, $work, which goes with it; no records or packages of this machine's user are seen.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME="$work/data" XDG_CONFIG_HOME="$work/config"

fail() {
  echo "$(basename "$0" .sh): $*" >&2
  exit 1
}
# expect CODE ARGUMENT...: runs the program and checks its exit code; output in out and err.
expect() {
  local code=$1 seen=0
  shift
  "$tilewright" "$@" >out 2>err || seen=$?
  [ "$seen" -eq "$code" ] || fail "'$*' gave exit code $seen, expected $code: $(head -c 800 err)"
}
# has TEXT FILE: the text is in it. matches PATTERN FILE: an extended regular expression.
has() { grep -qF -- "$1" "$2" || fail "no '$1' in: $(head -c 800 "$2")"; }
matches() { grep -qE -- "$1" "$2" || fail "no '$1' in: $(head -c 800 "$2")"; }
