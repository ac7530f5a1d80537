#!/usr/bin/env bash
# library_test.sh LIBRARY HEADER SYMBOLS: checks the dependencies and exports of libtilewright.so.
# SYMBOLS is the list of its Debian package, which gives the first version of each function.
set -euo pipefail
library=$1
header=$2
symbols=$3
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Small enough for any compiler to link: none of the large libraries, directly or indirectly.
for list in "$(readelf -d "$library")" "$(ldd "$library")"; do
  if grep -iE 'llvm|lld|xgboost|onnx|protobuf|python' <<<"$list"; then fail "links what it must not"; fi
done
readelf -d "$library" | grep -qE 'SONAME.*\[libtilewright\.so\.[0-9]+\]' || fail "no SONAME"
if readelf -d "$library" | grep -E 'RPATH|RUNPATH'; then fail "has a search path of its own"; fi
if readelf -d "$library" | grep -E 'TEXTREL'; then fail "is not position independent"; fi

# It exports the functions of the header, each with a version, and nothing else.
declared=$(grep -oE '\btw_[a-z_]+\(' <(grep -A1 '^TW_API' "$header") | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort -u)
unversioned=$(grep -v '@@TILEWRIGHT_' <<<"$exported" || true)
[ -z "$unversioned" ] || fail "exports without a version: $unversioned"
difference=$(diff <(echo "$declared") <(sed 's/@@.*//' <<<"$exported") || true)
[ -z "$difference" ] || fail "header and exports differ: $difference"
# The list has all functions, each with the version of its first list: released entries do not
# change.
listed=$(sed -nE "s/^ (tw_[a-z_]+)@(TILEWRIGHT_[0-9.]+) [0-9.]+\$/\1@@\2/p" "$symbols" | sort)
difference=$(diff <(echo "$listed") <(echo "$exported") || true)
[ -z "$difference" ] || fail "$symbols and exports differ: $difference"
soname=$(readelf -d "$library" | sed -nE "s/.*SONAME.*\[(.*)\]/\1/p")
grep -q "^$soname libtilewright${soname##*.} " "$symbols" || fail "$symbols is not of $soname"
echo "$(wc -l <<<"$exported") functions, needs: $(readelf -d "$library" | grep -oE 'NEEDED.*\[.*' | grep -oE '\[.*' | tr '\n' ' ')"
