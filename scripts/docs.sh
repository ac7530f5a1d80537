#!/usr/bin/env bash
# Builds the site of docs/ into build/docs/site with mkdocs (Debian package mkdocs). The site needs no network: styles, fonts, scripts
# and the search index are files of it.
# docs.sh --test: runs the command blocks of README.md and docs/ in build/release, and lists the blocks it leaves out.
# docs.sh --all:  the same with the blocks that take minutes; the last output is in bench/results (docs.txt).
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  "") ;;
  --test | --all)
    ./scripts/build.sh build/release -- docs_tests
    [ "$1" = --all ] && export TILEWRIGHT_DOCS_ALL=1
    result=0
    build/release/tests/docs_tests --gtest_brief=1 --gtest_filter='DocsPage.*:*/DocsPage.*:DocsBlocksTest.*' || result=$?
    exit "$result"
    ;;
  *) echo "docs: '$1': expected --test or --all" >&2; exit 2 ;;
esac

command -v mkdocs >/dev/null || { echo "docs: no mkdocs; scripts/setup.sh --with-docs installs it" >&2; exit 2; }
pages=build/docs/pages
rm -rf build/docs
mkdir -p "$pages"
cp -r docs/*.md docs/*.svg docs/site.css docs/images docs/examples "$pages"
# Links to files outside of docs/ become links to copies in the site.
grep -ohE '\]\(\.\./[^)#]+' docs/*.md | sed 's/^](\.\.\///' | sort -u | while read -r file; do
  [ -d "$file" ] && continue
  mkdir -p "$pages/files/$(dirname "$file")"
  cp "$file" "$pages/files/$file"
  case $file in *.md) mv "$pages/files/$file" "$pages/files/$file.txt" ;; esac
done
sed -i -E 's|\]\(\.\./([^)#]+\.md)(#[^)]*)?\)|](files/\1.txt)|g; s|\]\(\.\./([^)]+)\)|](files/\1)|g' "$pages"/*.md
# Folders have no page: links to folders of examples lead to GitHub-like views only in the source tree.
sed -i -E 's|\[([^]]+)\]\(examples/([a-z/]+)\)|`docs/examples/\2`|g' "$pages"/*.md
mkdocs build --quiet --strict --config-file packaging/mkdocs.yml

# mkdocs fetches its search index, which browsers refuse for pages that are opened as files: the index becomes a script.
search=build/docs/site/search
{ printf 'var search_data = ' && cat "$search/search_index.json" && echo ';'; } >"$search/index.js"
{
  sed '/^if (!window.Worker)/,$d; s/if (!window.Worker)/if (true)/' "$search/main.js"
  cat <<'END'
var documents = {}, index, min_search_length = search_data.config.min_search_length - 1;

function search (query) {
  index = index || lunr(function () {
    this.field('title');
    this.field('text');
    this.ref('location');
    search_data.docs.forEach(function (doc) {
      documents[doc.location] = doc;
      this.add(doc);
    }, this);
  });
  return index.search(query).map(function (result) {
    var found = documents[result.ref];
    found.summary = found.text.substring(0, 200);
    return found;
  });
}

initSearch();
END
} >"$search/main.js.new"
mv "$search/main.js.new" "$search/main.js"
rm "$search/worker.js" "$search/search_index.json"
sed -i 's|<script src="search/main.js" defer></script>|<script src="search/lunr.js" defer></script><script src="search/index.js" defer></script>&|' build/docs/site/*.html

# A page that asks another host for something would not work offline.
if grep -rnoE '(src|href)="https?://[^"]*\.(js|css|woff2?|ttf)[^"]*"|@import url\(.?https?:|url\(.?https?:' build/docs/site --include=*.html --include=*.css; then
  echo "docs: the pages above load files from other hosts" >&2
  exit 1
fi
echo "docs: build/docs/site/index.html, $(find build/docs/site -maxdepth 1 -name '*.html' | wc -l) pages"
