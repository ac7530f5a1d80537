#!/usr/bin/env bash
# runner_orders.sh BUILD [SECONDS] [SEED]: mutated orders to real runners, 30 minutes if not told otherwise.
# Each is answered or refused in words; a signal, a hang or memory without end is a finding.
set -euo pipefail
build=${1:?folder of a build}
TILEWRIGHT_MUTATION_SECONDS=${2:-1800} TILEWRIGHT_MUTATION_SEED=${3:-1} \
  "$build/tests/measure_tests" --gtest_filter='RunnerOrders.*'
