#!/usr/bin/env bash
# open_test.sh TILEWRIGHT: programs of a user are tuned (docs/howto-open.md): the examples of
# docs/examples/open with real compilers, resume, queries, packages, and a job that is killed.
set -euo pipefail

tilewright=$1
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
examples=$source_folder/docs/examples/open

# A synthetic program whose best config is known.
cat >space.json <<'EOF'
{"General": {"BenchmarkName": "sort"}, "ConfigurationSpace": {"TuningParameters": [
  {"Name": "block", "Type": "int", "Values": [1, 2, 4, 8, 16, 32], "Default": 1},
  {"Name": "share", "Type": "float", "Values": [0.25, 0.5], "Default": 0.25},
  {"Name": "order", "Type": "string", "Values": ["rows", "columns"], "Default": "rows"}],
  "Conditions": [{"Expression": "block < 32 or order == 'rows'", "Parameters": ["block", "order"]}]}}
EOF
cat >bench.sh <<'EOF'
#!/bin/sh
echo run >>runs
test "$1" = 16 && { echo '{"failed": "compile", "reason": "too many registers"}'; exit 1; }
distance=$(($1 > 8 ? $1 - 8 : 8 - $1))
test "$TILEWRIGHT_order" = rows && distance=$((distance + 5))
test "$2" = 0.25 && distance=$((distance + 1))
echo "{\"time\": {\"value\": $((100 + 10 * distance)), \"unit\": \"ms\"}, \"size\": $((1000 - distance))}"
EOF
chmod +x bench.sh
tune=(tune --space space.json --command './bench.sh {block} {share}' --records records.db
  --strategy random)
expect 0 "${tune[@]}" --trials 8
expect 0 "${tune[@]}" --trials 100 --json # the whole space: 22 configs
has '"end":"exhausted"' out
runs=$(wc -l <runs)
expect 0 "${tune[@]}" --trials 100
[ "$(wc -l <runs)" -eq "$runs" ] || fail "a finished job ran again: $(wc -l <runs) runs, before $runs"
expect 0 records stats records.db --json
has '"trials":' out
expect 0 records check records.db
expect 0 records best records.db
has 'sort' out
expect 0 records list records.db --outcome build_failed
has 'too many registers' out
expect 0 query sort --records records.db --json
has '"block":8' out
has '"order":"columns"' out
has '"share":' out
key=$(grep -oE 'open\(sort,[0-9a-f]{40}\)' out | head -n 1)
expect 0 query "$key" --records records.db
has '100.00 ms' out
expect 0 report records.db -o report.html

# One config for several devices, and for a range of sizes.
expect 0 query sort --records records.db --over here
has 'best for all, worst share 1.000' out
expect 2 query sort --records records.db --over here,here
has 'twice' err
expect 2 query sort --records records.db --over here,nowhere
has "device 'nowhere' has no records of the task; these have:" err
for size in 16 32; do
  expect 0 tune --space space.json --command "./bench.sh {block} {share} $size" --name "sort_$size" \
    --records sizes.db --strategy random --trials 30
done
expect 0 query 'sort_?' --records sizes.db
has '16 to 32' out
has '"block":8' out
expect 0 query 'sort_?' --records sizes.db --json --by mean
has '"from":"16","to":"32","score":1.0' out
expect 2 query 'sort_?x' --records sizes.db
expect 2 query 'sort_?' --records sizes.db --over here --over nowhere
has 'one device for a range of sizes' err

# Environments: a hit where the fields of "match" are equal, and near if one of "differ" is not.
gpu() { echo "{\"match\": {\"gpu\": \"$1\"}, \"differ\": {\"driver\": \"$2\"}}"; }
expect 0 tune --space space.json --command './bench.sh {block} {share}' --records gpus.db \
  --strategy random --trials 100 --environment "$(gpu A 1)"
expect 0 query sort --records gpus.db --environment "$(gpu A 1)" --json
has '"kind":"hit"' out
has '"block":8' out
expect 0 query sort --records gpus.db --environment "$(gpu A 2)" --json
has '"kind":"near"' out
expect 1 query sort --records gpus.db --environment "$(gpu B 1)" --json
expect 1 query sort --records gpus.db --json
# Another environment is another job, which begins with the best of the first; and the same job again.
cat >gpu_b.json <<EOF2
{"space": "space.json", "command": "./bench.sh {block} {share}", "records": "gpus.db", "trials": 2,
 "finalists": 0, "environment": $(gpu B 1)}
EOF2
expect 0 tune --job gpu_b.json
runs=$(wc -l <runs)
expect 0 tune --job gpu_b.json
[ "$(wc -l <runs)" -eq "$runs" ] || fail "a job with an environment is not resumed"
expect 0 query --job gpu_b.json --json
has '"kind":"hit"' out
has '"block":8' out
expect 0 query sort --records gpus.db --over A,gpu=B --json
has '"device":"gpu=B"' out
expect 2 tune --space space.json --command ./bench.sh --records gpus.db --trials 1 --environment '{}'
has 'environment: expected at least one field' err
expect 2 tune --job gpu_b.json --fleet none.fleet
has 'not allowed with --fleet' err
expect 2 query 'dense(float32[1,8]MK,float32[8,8]NK)->float32' --records gpus.db --environment "$(gpu A 1)"
has 'name of a program' err

# A space whose conditions no config fulfils, too entangled to be counted, is refused at once.
{
  printf '{"ConfigurationSpace": {"TuningParameters": ['
  sum=0
  for name in a b c d e f g h i; do
    printf '{"Name": "%s", "Type": "int", "Values": "[i*i*7919 + i for i in range(40)]"},' $name
    sum="(($sum) * 31 + $name) % 1000003"
  done
  printf '{"Name": "z", "Type": "int", "Values": [1]}], "Conditions": ["%s", "%s"]}}' \
    "($sum) % 10 == 3" "($sum) % 5 == 4"
} >entangled.json
expect 2 tune --space entangled.json --command ./bench.sh --records none.db --trials 1
has 'fulfils all conditions' err

# T4 files become records of a task and come back; a search of the task begins with them.
t4() { # t4 FACTOR: all configs of space.json but one, fastest at block 8, columns
  printf '{"metadata":{"timeunit":"ms"},"results":['
  for block in 1 2 4 8 16 32; do
    for order in rows columns; do
      [ "$block$order" = 32columns ] && continue
      distance=$(((block > 8 ? block - 8 : 8 - block) + (${#order} == 4 ? 5 : 0)))
      printf '%s{"configuration":{"block":%d,"share":0.5,"order":"%s"},"times":{"framework":1.5},"measurements":[{"name":"time","value":%d}],"objectives":["time"],"more":{"a":[1]}}' \
        "$comma" "$block" "$order" $((100 + $1 * distance))
      comma=,
    done
  done
  printf '],"schema_version":"1.0.0"}'
}
comma='' && t4 10 >sort.A100.T4.json
comma='' && t4 20 >sort.A4000.T4.json
expect 0 records import sort.A100.T4.json sort.A4000.T4.json --space space.json --records t4.db --dry-run
[ ! -e t4.db ] || fail "a dry run made a store"
expect 0 records import sort.A100.T4.json sort.A4000.T4.json --space space.json --records t4.db
has '11 results of sort on device=A100, 0 failed: 11 imported' out
expect 0 records import sort.A100.T4.json --space space.json --records t4.db
has '0 failed: 0 imported' out
expect 0 records check t4.db
expect 0 query sort --records t4.db --over A100,A4000
has 'best for all, worst share 1.000' out
expect 0 query sort --records t4.db --environment '{"match": {"device": "A100"}}' --json
has '"block":8' out
expect 0 report t4.db -o t4.html
expect 0 records export --format t4 --records t4.db -o t4/
for name in A100 A4000; do
  gzip -dc "t4/sort.$name.T4.json.gz" | tr -d ' \n' | sed 's/\.0\([],}]\)/\1/g' >back
  tr -d ' \n' <"sort.$name.T4.json" >before
  cmp back before || fail "$name comes back changed"
done
expect 0 records export --format t1 --records t4.db -o t1/
cmp "t1/sort.A100.T1.json" space.json || fail "the T1 file comes back changed"
expect 0 records export --format cachefile --records t4.db -o cache/
expect 0 records import cache/sort.A100.cachefile.json.gz --records cache.db
has '11 results of sort on device=A100' out
# As records of the program's task: its second config, after the default one, is the best of these.
cat >sort_job.json <<'EOF2'
{"space": "space.json", "command": "./bench.sh {block} {share}", "records": "sort.db", "trials": 2, "finalists": 0}
EOF2
expect 0 records import sort.A100.T4.json sort.A4000.T4.json --job sort_job.json --records sort.db
expect 0 tune --job sort_job.json
expect 0 query sort --records sort.db --json
has '"block":8' out
expect 0 query sort --records sort.db --over A100,A4000,here
has 'best for all' out
expect 2 records import sort.A100.T4.json --target llvm --records t4.db
expect 2 records import sort.A100.T4.json missing.log --records t4.db
sed 's/"value":100/"value":-1/' sort.A100.T4.json >bad.A1.T4.json
expect 2 records import sort.A4000.T4.json bad.A1.T4.json --records bad.db
has 'bad.A1.T4.json: result' err
[ ! -e bad.db ] || fail "a refused import left a store"

# The same task by a text of knobs and a job file: the same options resume the job.
cat >space.txt <<'EOF'
space sort
knob block = powers(32)
knob share = {1, 2}
knob order = {"rows", "columns"}
require block < 32 or order == "rows"
EOF
cat >job.json <<'EOF'
{"space": "space.txt", "command": "./bench.sh {block} {share}", "records": "text.db", "trials": 100,
 "strategy": "random"}
EOF
expect 0 tune --job job.json --json
has '"end":"exhausted"' out
runs=$(wc -l <runs)
expect 0 tune --space space.txt --command './bench.sh {block} {share}' --records text.db --trials 100 --strategy random
[ "$(wc -l <runs)" -eq "$runs" ] || fail "the job of a file is another one than that of the options"
expect 0 query --job job.json --json
has '"block":8' out
sed -i 's/require block < 32/require blok < 32/' space.txt
expect 2 tune --job job.json
has "space.txt:5:9: 'blok' is not a knob above" err

# A larger space of the same task: another search, and the records of both serve.
sed 's/\[1, 2, 4, 8, 16, 32\]/[1, 2, 4, 8, 9, 16, 32]/' space.json >space2.json
expect 0 tune --space space2.json --command './bench.sh {block} {share}' --records records.db --trials 3
expect 0 query "$key" --records records.db --json
has '"block":8' out

# A package contains the task.
expect 0 package keygen -o key
expect 0 package build records.db --key key -o built --license CC0-1.0 --best 0
package=$(ls built/*.twpkg)
expect 0 package verify "$package" --key key.pub
expect 0 query sort --package "$package" --key key.pub --no-packages
has '100.00 ms' out
expect 0 records merge merged.db records.db
expect 0 query sort --records merged.db

# Several metrics.
expect 0 tune --space space.json --command './bench.sh {block} {share}' --records front.db \
  --metric seconds,size --strategy random --trials 30
expect 0 query sort --records front.db --front
has 'by seconds,size' out

# Wrong input is named.
expect 2 tune --space space.json --records r.db --trials 1
has 'expected --command' err
expect 2 tune --space none.json --command true --records r.db --trials 1
has 'none.json' err
expect 2 tune --space space.json --command 'true {blok}' --records r.db --trials 1
has '{blok} is not a parameter, expected one of {block}, {share}, {order}' err
expect 2 tune --space space.json --command no-such-program-here --records r.db --trials 1
has 'no such program in PATH' err
expect 2 tune --space space.json --shell --command 'true "{block}"' --records r.db --trials 1
has 'write {block} without quotes' err
expect 2 tune --space space.json --command true --records r.db --trials 1 --precision bfloat16
has '--precision' err
expect 2 tune --space space.json --command 'a | b' --records r.db --trials 1
has 'expected --shell with it' err
expect 2 tune --space space.json --command true --records r.db --trials 1 --fleet x
has 'neither an address' err
expect 2 tune resnet18.onnx --command true --records r.db --trials 1
has 'expected --space with it' err

# A job whose command never answers as it should says why at its end.
expect 0 tune --space space.json --records never.db --trials 2 --shell --command 'echo "{{\"time\": 12}}"'
has 'run_failed: answer: "time" has no unit' err
expect 0 tune --space space.json --records short.db --trials 2 --shell --command 'echo "{{\"seconds\": 1e-12}}"'
expect 0 records check short.db
expect 2 tune --space space.json --records r.db --trials 1 --shell --command 'echo "{\"seconds\": 1}"'
has 'for braces, write {{ and }}' err

# Real programs: blocks, tiles and flags of a matrix product, and pragmas of SQLite.
cp "$examples"/* .
expect 0 tune --space matmul.json --records mm.db --trials 6 --strategy random --seed 3 \
  --build 'gcc {level} {math} -march=native -DBLOCK_I={block_i} -DBLOCK_J={block_j} -DBLOCK_K={block_k} -DLANES={lanes} -DTILE_I={tile_i} -DTILE_J={tile_j} -DPACK={pack} matmul.c -o {out} -lm' \
  --command '{out}' --check '{out} check'
expect 0 query matmul --records mm.db
expect 0 records list mm.db --outcome ok --json
if [ -e /usr/include/sqlite3.h ]; then
  gcc -O2 sqlite.c -o sqlite_bench -lsqlite3
  expect 0 tune --space sqlite.json --records sq.db --trials 6 --metric 'seconds,size[B]' \
    --command './sqlite_bench file.db {journal} {synchronous} {page_size} {cache_kib} {rows}'
  expect 0 query sqlite --records sq.db --front
fi

"$source_folder/bench/open_kill.sh" "$tilewright" 3 "$work/kill" >kill.txt ||
  fail "$(cat kill.txt)"
