#!/usr/bin/env bash
# task_stress.sh BUILD [SECONDS]: 64 threads write one task of a record store through the C interface
# and 32 read it, for ten minutes, while processes of writers are killed with SIGKILL and replaced
# every two seconds. Prints rates, and fails if a result that was acknowledged is lost.
set -euo pipefail
build=$1
seconds=${2:-600}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/tests/task_stress" "$work/records.db" "$seconds" 64 32 2
ls -l "$work/records.db" | awk '{printf "store of %.1f MB\n", $5 / 1e6}'
"$build/python_free_cli/tilewright" records check "$work/records.db"
