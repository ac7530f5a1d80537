#!/usr/bin/env bash
# search_path_test.sh FOLDER...: checks that no program or library in the folders searches for
# libraries in a folder that other users can write: every element of its search path, if it has one,
# is an absolute path. An empty element means the current folder.
set -euo pipefail
files=0
failed=0
while IFS= read -r -d '' file; do
  [ "$(head -c 4 "$file" | tr -d '\0')" = $'\177ELF' ] || continue
  files=$((files + 1))
  while IFS= read -r path; do
    while IFS= read -r -d : element; do
      case $element in
        /* | '$ORIGIN' | '$ORIGIN/'*) ;;
        *)
          echo "FAILED: $file: looks for libraries in '$element' (search path '$path')" >&2
          failed=1
          ;;
      esac
    done <<<"$path:"
  done < <(readelf -d "$file" 2>/dev/null | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/\2/p')
done < <(find "$@" -type f ! -name '*.o' \( -perm -u+x -o -name '*.so' -o -name '*.so.*' \) -print0)
[ "$files" -gt 0 ] || { echo "FAILED: no program and no library in $*" >&2; exit 1; }
[ "$failed" -eq 0 ] || exit 1
echo "$files programs and libraries, none with a search path of others"
