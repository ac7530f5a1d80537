#!/usr/bin/env bash
# schedule_test.sh TILEWRIGHT: a schedule text is written from a config, edited, measured, tuned
# with, and served from a package to a program that has never read the text.
set -euo pipefail

tilewright=$1
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
examples=$source_folder/docs/examples/schedules
task='dense(float32[4,32]MK,float32[48,32]NK)->float32'

expect 0 space "$task" --schedule "$examples/dense_packed.tws"
key=$(grep -oE 'schedule/dense_packed-[a-z2-7]{32}' out | head -n 1)
[ -n "$key" ] || fail "no key of the text: $(cat out)"
expect 0 measure --task "$task" --schedule "$examples/dense_packed.tws" --template "$key"
has 'ok' out

# A config of a template as a text; another value of a knob in it; a measurement.
expect 0 lower "$task" --template dense_packed.cpu --config 5 --emit schedule
cp out mine.tws
expect 0 lower "$task" --template dense_packed.cpu --config 5 --emit loops
cp out ours
expect 0 space "$task" --schedule mine.tws
mine=$(grep -oE 'schedule/mine-[a-z2-7]{32}' out | head -n 1)
expect 0 lower "$task" --schedule mine.tws --template "$mine" --emit loops
cmp -s out ours || fail "the text makes other loops"
sed -E 's/^(where .*)$/\1\nknob step = {1, 2, 4, 8} default 4/; s/(= split\(reduce_local_k|= split\(reduced[^,]*|= split\(reduce_k), [0-9]+/\1, step/' \
  mine.tws >edited.tws
expect 0 space "$task" --schedule edited.tws
has 'step' out
has '4 configs' out

# Tuning with the text: the search visits it, the store keeps its text, and a package contains it.
sed 's/^schedule dense_packed/schedule best/; s/default 4/default 2/' "$examples/dense_packed.tws" >best.tws
expect 0 tune "$task" --schedule best.tws --strategy random --trials 24 --records all.db
expect 0 records list all.db --json
grep -q '"schedule/best-' out || fail "no trial of the text: $(head -c 600 out)"
expect 0 lower "$task" --schedule best.tws --emit loops
expect 0 package keygen -o key
expect 0 package build all.db --key key -o built --license CC0-1.0 --best 0
package=$(ls built/*.twpkg)
expect 0 package verify "$package" --key key.pub
expect 0 query "$task" --package "$package" --key key.pub --no-packages
has 'hit' out

# The example of the documentation with its commands.
awk '/^```/ { if (shown) exit; inside = !inside; next } inside && /^# Dense layers/ { shown = 1 } inside && shown' \
  "$source_folder/docs/schedules.md" >rows.tws
expect 0 space "$task" --schedule rows.tws
rows=$(grep -oE 'schedule/rows-[a-z2-7]{32}' out | head -n 1)
expect 0 tune "$task" --schedule rows.tws --template "$rows" --strategy grid --trials 6 --records rows.db --json
grep -q '"failures":{}' out || fail "configs of the example fail: $(head -c 600 out)"
# A text without any legal config.
printf '%s\n' 'schedule bad for dense on llvm' 'knob rows = {1, 2}' 'sum = stage("reduce")' \
  'o, i = split(axis(sum, 0), rows)' 'vectorize(axis(sum, 1))' >bad.tws
expect 2 tune "$task" --schedule bad.tws --trials 6 --records rows.db
has 'none of 2 configs is legal' err
has 'is not innermost (2 configs)' err

printf 'schedule a for dense on llvm\nx = axis(stage("reduce"), 0\n' >wrong.tws
expect 2 space "$task" --schedule wrong.tws
has "wrong.tws:3:1: the end, expected ','" err
expect 2 measure --task "$task" --schedule missing.tws
has '--schedule missing.tws' err
expect 2 lower "$task" --template schedule/best-00000000000000000000000000000000
has 'by --schedule' err
echo "schedule_test: all as expected"
