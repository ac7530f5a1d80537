#!/bin/sh
# syntax_only.sh COMPILER ARGUMENT...: runs a compiler that makes no code (-fsyntax-only), and makes the
# empty file that is to be its output, so that Ninja does not run it again.
"$@" || exit
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then
    : >"$2"
    exit
  fi
  shift
done
