# expect.sh: sourced by end-to-end tests of the program. Needs $tilewright. The test runs in an
# empty folder, $work, which is deleted at the end. Records and packages of the current user are not
# visible.

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
# has TEXT FILE: checks that the file contains the text. matches PATTERN FILE: the same with an
# extended regular expression.
has() { grep -qF -- "$1" "$2" || fail "no '$1' in: $(head -c 800 "$2")"; }
# says TEXT FILE: as has, for text that is broken into lines. fits FILE: checks that no line is wider than
# 80 characters.
says() { tr -s '\n ' '  ' <"$2" | grep -qF -- "$1" || fail "no '$1' in: $(head -c 800 "$2")"; }
fits() {
  local line
  line=$(LC_ALL=C.UTF-8 grep -m1 -E '^.{81}' "$1" || true)
  [ -z "$line" ] || fail "wider than 80 characters: $line"
}
matches() { grep -qE -- "$1" "$2" || fail "no '$1' in: $(head -c 800 "$2")"; }
