#!/usr/bin/env bash
# fixtures_test.sh TILEWRIGHT SOURCE_FOLDER: reads the files of earlier versions (tests/fixtures).
# Records are served if versions and device match, and reported otherwise. Nothing is lost.
set -euo pipefail

tilewright=$1
fixtures=$2/tests/fixtures
design=$2/configs/vta/sim.json
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
count() { sqlite3 -readonly "$1" "SELECT count(*) FROM trial"; }

for day in "$fixtures"/20*/; do
  rm -rf ./*
  cp -r "$day"* .
  gunzip ./*.db.gz
  echo "== $(basename "$day")"
  vta=(--target vta --vta-config "$design")

  # The store is complete, and its trials are served. The simulator is the same everywhere; this CPU
  # may differ. Records of older versions are near matches, whose explanation names the versions.
  kept=$(count store.db)
  [ "$kept" -ge 20 ] || fail "$kept trials in store.db"
  # A store of an older schema reports the necessary step, and is migrated with every trial when it
  # is written.
  if ! "$tilewright" records check store.db >out 2>err; then
    has "open it for writing once to migrate it" err
    sqlite3 -readonly store.db "SELECT hex(id) FROM trial ORDER BY id" >before
    expect 0 records vacuum store.db
    sqlite3 -readonly store.db "SELECT hex(id) FROM trial ORDER BY id" >after
    cmp before after || fail "trials changed when the store was migrated"
  fi
  expect 0 records check store.db
  expect 0 records stats store.db
  expect 0 query packed.relay#0 "${vta[@]}" --records store.db --no-packages --accept near
  matches 'hit' out
  "$tilewright" query plain.relay --target 'llvm -mcpu=x86-64' --records store.db --no-packages >out 2>err || true
  matches 'hit|miss' out
  [ "$(count store.db)" -eq "$kept" ] || fail "trials lost"

  # Packages with signatures of an earlier version.
  expect 0 package verify ./*.twpkg --key lab.pub
  for package in ./vta*.twpkg; do
    expect 0 package query "$package" packed.relay#0 "${vta[@]}" --key lab.pub
  done

  # Libraries for any x86-64: they run and compute the results of the network.
  expect 0 run plain.so --made-up random --json
  expect 0 verify plain.relay plain.so
  expect 0 verify plain.relay plain.bundle

  # A log in AutoTVM's format.
  expect 0 records import autotvm.log --records imported.db --json
  matches '"imported":[1-9]' out
  expect 0 report imported.db
  has 'imported records, not verified here' out

  # A report. It names the data that an old store lacks.
  expect 0 report store.db --graph packed.relay --job 2c7b8172 --json
  matches '"engines":\[\{' out
  expect 0 report store.db
  has 'note: store.db' out

  # A killed job resumes or starts another log; its trials are kept in both cases.
  kept=$(count job.db)
  sqlite3 -readonly job.db 'SELECT id FROM trial ORDER BY id' >before
  expect 0 tune packed.relay "${vta[@]}" --records job.db --trials "$((kept + 16))"
  matches 'going on with a job that has|does not replay any more' err
  sqlite3 -readonly job.db 'SELECT id FROM trial ORDER BY id' >after
  [ -z "$(comm -23 before after)" ] || fail "trials of the job are gone"
  [ "$(count job.db)" -gt "$kept" ] || fail "no trial was added"

  # Records of an older template version are reported, and are measured first.
  sqlite3 store.db 'UPDATE trial SET template_version = template_version + 1; DELETE FROM best'
  "$tilewright" query packed.relay#0 "${vta[@]}" --records store.db --no-packages --accept near >out 2>err || true
  matches 'version' out
  sqlite3 -readonly store.db 'SELECT config FROM trial' >before
  expect 0 tune packed.relay#0 "${vta[@]}" --records store.db --trials 1
  matches 'records of other versions are not served; the fastest of their configs .* are measured first' err
  [ "$(sqlite3 -readonly store.db 'SELECT config FROM trial ORDER BY rowid DESC LIMIT 1' | grep -cxFf before)" -eq 1 ] ||
    fail "the first trial is of another config"
done

# Tables of scripts/bench.sh as pages of a report.
for table in "$2"/bench/results/*/table.json; do
  expect 0 report --bench "$table"
  has 'median of' out
done
expect 2 report
expect 2 report --bench store.db
has 'not valid JSON' err
