#!/usr/bin/env bash
# optimize_test.sh TILEWRIGHT: the search of number formats on a small network, its errors, and that a killed search resumes with
# the same front.
set -euo pipefail

tilewright=$1
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

cat >net.relay <<'RELAY'
def @main(%x: Tensor[(1, 8, 12, 12), float32]) {
  %0 = nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(16, 8, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %3 = add(%2, %1);
  %4 = nn.relu(%3);
  %5 = nn.conv2d(%4, meta[relay.Constant][2] /* ty=Tensor[(32, 16, 1, 1), float32] */, padding=[0, 0, 0, 0]);
  %6 = nn.global_avg_pool2d(%5);
  %7 = nn.batch_flatten(%6);
  nn.dense(%7, meta[relay.Constant][3] /* ty=Tensor[(10, 32), float32] */, units=10)
}
RELAY
# samples NAME COUNT: an array of random samples.
samples() {
  printf 'def @main(%%x: Tensor[(%d, 8, 12, 12), float32]) { multiply(%%x, 1.5f) }\n' "$2" >"$1.relay"
  expect 0 compile "$1.relay" -o "$1.so"
  expect 0 run "$1.so" --made-up random --output "$1.npy"
}
samples data 16
samples few 3
common='--no-packages --model none'
# The value of a number in JSON, after another key: value KEY FILE.
value() { sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p" "$2" | head -1; }

# Errors.
expect 2 optimize net.relay --data data.npy --bound 'sqnr>30' --records r.db -o out.so
has "'sqnr>30', expected sqnr>=DECIBELS" err
expect 2 optimize net.relay --data few.npy --records r.db -o out.so
has '3 samples, expected at least 4 for sqnr>=30' err
expect 2 optimize net.relay --data data.npy --bound 'agreement>=0.99' --records r.db -o out.so
has '16 samples, expected at least 198 for agreement>=0.99' err
expect 2 optimize net.relay --data data.npy --precision bfloat16 --records r.db -o out.so
has 'the search chooses the formats' err
expect 2 optimize net.relay --data data.npy --target 'cuda -arch=sm_80' --records r.db -o out.so
has 'only CPUs' err
expect 2 optimize net.relay --data data.npy --rule autotvm --records r.db -o out.so
has '--rule autotvm' err
expect 2 optimize data.relay --data data.npy --records r.db -o out.so
expect 2 optimize net.relay --bound 'sqnr>=30' -o out.so
expect 2 optimize net.relay --data data.npy --bound 'score>=0.5' --records r.db -o out.so
has 'score>=0.5: expected --score' err
expect 2 optimize net.relay --data data.npy --score ./none.sh --bound 'score>=0.5' --records r.db -o out.so
has './none.sh' err
expect 2 optimize net.relay --data data.npy --score 'a | b' --bound 'score>=0.5' --records r.db -o out.so
has '--score' err
expect 2 optimize net.relay --prefer 'seconds,sqnr>=20' --records r.db -o out.so
has 'no search of this network' err
expect 2 optimize net.relay --data data.npy --prefer 'seconds,sqnr>=20' --records r.db -o out.so
has 'leave --data out' err
[ ! -e out.so ] || fail "an error left a library"

# Only commands that compile networks choose number formats by --prefer.
expect 0 compile --help
says 'number formats of an earlier' out
expect 0 query --help
tr -s '\n ' '  ' <out | grep -qF 'number formats of an earlier' && fail "query has no number formats"

# Without data, nothing is promised.
# shellcheck disable=SC2086
expect 0 optimize net.relay $common -o exact.so
says 'no bound was tested' out
expect 0 verify net.relay exact.so

# A search. What is chosen depends on times, but the bound holds for it.
# shellcheck disable=SC2086
expect 0 optimize net.relay --data data.npy --records r.db $common -o out.so --json
has '16 samples: 4 calibrate, 4 search, 8 held out' err
has '"bound":"sqnr>=30"' out
has '"value":"%2","operator":"conv2d","format":' out
has '"format":"bfloat16"' out
has '"format":"int8"' out
cp out first.json
if grep -q '"reason":"the fastest that keeps' out; then
  matches '"held_out":\{"sqnr_db":([3-9][0-9]|1[0-9][0-9])' out
else
  has '"reason":"float32: ' out
fi
expect 0 run out.so --made-up random
[ -s out.h ] || fail "no header"

# The same command finds every step done and has the same result; another bound measures only what
# is new.
# shellcheck disable=SC2086
expect 0 optimize net.relay --data data.npy --records r.db $common -o out.so --json
has 'resumes: ' err
cmp -s out first.json || fail "the second run has another result"
# shellcheck disable=SC2086
expect 0 optimize net.relay --data data.npy --bound 'cosine>=0.9' --records r.db $common -o out.so
has 'resumes: ' err
says 'samples calibrate' out
expect 0 records check r.db

# The stored front answers other bounds without data.
# shellcheck disable=SC2086
expect 0 optimize net.relay --prefer 'seconds,sqnr>=20' --records r.db $common -o front.so
says '--prefer seconds,sqnr>=20 on the front of job optimize-' out
expect 0 run front.so --made-up random
# shellcheck disable=SC2086
expect 0 compile net.relay --prefer 'sqnr,seconds<=1000s' --records r.db $common -o front.so
has 'formats: 4 float32' err
# shellcheck disable=SC2086
expect 2 compile net.relay --prefer 'sqnr,seconds<=1us' --records r.db $common -o none.so
has 'the fastest library takes' err
# shellcheck disable=SC2086
expect 2 compile net.relay --prefer 'seconds,score>=0.5' --records r.db $common -o none.so
has 'search with --score' err
# shellcheck disable=SC2086
expect 2 compile net.relay --prefer 'seconds,sqnr>40' --records r.db $common -o none.so
has 'expected sqnr>=DECIBELS' err
# shellcheck disable=SC2086
expect 2 compile net.relay --prefer 'seconds,agreement>=0.999' --records r.db $common -o none.so
has 'held-out samples, expected at least' err
# shellcheck disable=SC2086
expect 2 compile net.relay --prefer 'seconds,sqnr>=20' --threads 7 --records r.db $common -o none.so
has 'no search of this network for this target' err
[ ! -e none.so ] || fail "a refused preference left a library"

# The page and the text of the search.
expect 0 report r.db
has 'net' out
matches '^sqnr>=60 +1\.000' out
expect 0 report r.db --json
has '"bounds":[{"bound":"sqnr>=20"' out

# A program of the user scores each library.
cat >score.sh <<'SCORE'
#!/bin/sh
"$TW" run "$1" --made-up random >/dev/null || exit 1
case $TILEWRIGHT_FORMATS in *i*) echo 'no labels' >&2; exit 3 ;; *) echo 0.875 ;; esac
SCORE
chmod +x score.sh
export TW=$tilewright
# shellcheck disable=SC2086
expect 0 optimize net.relay --data data.npy --score ./score.sh --bound 'score>=0.8' --records s.db $common -o out.so
has 'refused: ' out
has 'no labels' out
matches 'chosen .* 0\.875' out
# shellcheck disable=SC2086
expect 2 optimize net.relay --data data.npy --score ./score.sh --bound 'score>=0.9' --records s.db $common -o out.so
has 'the float32 library has a score of 0.875' err
# A file that the program reads by itself: another one measures scores again.
mkdir labels
echo 1 >labels/a.txt
cat >counted.sh <<'SCORE'
#!/bin/sh
echo called >>calls
echo 0.9
SCORE
chmod +x counted.sh
scored() {
  # shellcheck disable=SC2086
  expect "$1" optimize net.relay --data data.npy --score ./counted.sh --score-depends "$2" --bound 'score>=0.8' --records d.db \
    $common -o out.so
}
scored 0 labels
calls=$(wc -l <calls)
scored 0 labels
[ "$(wc -l <calls)" = "$calls" ] || fail "an unchanged file called the program again"
echo 2 >labels/a.txt
scored 0 labels
[ "$(wc -l <calls)" -gt "$calls" ] || fail "a changed file left the old scores"
scored 2 none
has '--score-depends: none: does not exist' err
# shellcheck disable=SC2086
expect 0 compile net.relay --prefer 'seconds,score>=0.8' --records s.db $common -o front.so
has 'score 0.875' err

# Killed after any step, it resumes. Each message follows a step that is stored. killed_after TEXT STEPS: at least STEPS are then
# found by the next run.
mkfifo messages
killed_after() {
  # shellcheck disable=SC2086
  "$tilewright" optimize net.relay --data data.npy --records k.db $common -o killed.so --json >out 2>messages &
  local job=$! line seen=no
  exec 9<messages
  while [ $seen = no ] && IFS= read -r line <&9; do
    case $line in *"$1"*) seen=yes ;; esac
  done
  kill -9 $job
  wait $job 2>/dev/null || true
  exec 9<&-
  [ $seen = yes ] || fail "the search ended without '$1'"
}
killed_after 'int8 by percentile,'
killed_after 'int8 by kl_divergence,'
killed_after '4 bfloat16:'
killed_after '4 int8:'
# shellcheck disable=SC2086
expect 0 optimize net.relay --data data.npy --records k.db $common -o killed.so --json
matches 'resumes: ([89]|[1-9][0-9]) steps are done' err
cp out killed.json
# shellcheck disable=SC2086
expect 0 optimize net.relay --data data.npy --records k.db $common -o killed.so --json
cmp -s out killed.json || fail "a resumed search has another result"
expect 0 records check k.db
echo "optimize_test: ok"
