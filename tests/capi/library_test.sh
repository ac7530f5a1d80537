#!/usr/bin/env bash
# library_test.sh LIBRARY HEADER: what libtilewright.so needs and exports.
set -euo pipefail
library=$1
header=$2
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Small enough for any compiler to link: none of the large libraries, directly or through another.
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
echo "$(wc -l <<<"$exported") functions, needs: $(readelf -d "$library" | grep -oE 'NEEDED.*\[.*' | grep -oE '\[.*' | tr '\n' ' ')"
