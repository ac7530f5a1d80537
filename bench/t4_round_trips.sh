#!/usr/bin/env bash
# t4_round_trips.sh TILEWRIGHT FOLDER: imports each T4 file and cachefile of a folder (KERNEL.DEVICE.T4.json.gz,
# KERNEL.DEVICE.cachefile.json.gz, with KERNEL.T1.json where there is one) into a store of its own by `records import`, exports
# the store in the same format, and compares both files as JSON: equal members and values, in any order of the
# configs, members and parameters. Numbers are equal if their values are. Exit code 1 if a file comes back changed.
# $PYTHON: the Python that compares (python3).
set -euo pipefail
tilewright=$(realpath "$1")
folder=$(realpath "$2")
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >compare.py <<'EOF2'
import gzip, json, math, sys
def key(result):
    return json.dumps(result["configuration"], sort_keys=True) if isinstance(result, dict) and "configuration" in result else ""
def same(a, b, path="$"):
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        if type(a) is not type(b):
            return f"{path}: {a!r:.60} and {b!r:.60}"
    if isinstance(a, dict):
        if set(a) != set(b):
            return f"{path}: members {sorted(set(a) ^ set(b))[:4]} in one file only"
        return next((why for name in a for why in [same(a[name], b[name], f"{path}.{name}")] if why), None)
    if isinstance(a, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} and {len(b)} items"
        if path == "$.results":
            a, b = sorted(a, key=key), sorted(b, key=key)
        return next((why for i in range(len(a)) for why in [same(a[i], b[i], f"{path}[{i}]")] if why), None)
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return None
    return None if a == b else f"{path}: {a!r:.60} and {b!r:.60}"
a, b = (json.load(gzip.open(file)) for file in sys.argv[1:3])
why = same(a, b)
results = a["results"] if "results" in a else a["cache"]
print(f"{sys.argv[3]}: {len(results)} results", "equal" if why is None else "CHANGED: " + why)
sys.exit(why is not None)
EOF2
changed=0
for file in "$folder"/*.T4.json.gz "$folder"/*.cachefile.json.gz; do
  name=${file##*/} format=t4
  [[ $name != *.cachefile.* ]] || format=cachefile
  space=()
  [ ! -e "$folder/${name%%.*}.T1.json" ] || space=(--space "$folder/${name%%.*}.T1.json")
  "$tilewright" records import "$file" "${space[@]}" --records "$name.db" >import.txt || { cat import.txt; exit 1; }
  "$tilewright" records check "$name.db" >check.txt || { cat check.txt; exit 1; }
  "$tilewright" records export --format $format --records "$name.db" -o "$name.out/" >export.txt 2>&1 || { cat export.txt; exit 1; }
  "$python" compare.py "$file" "$name.out/"* "$name" || changed=1
done
exit $changed
