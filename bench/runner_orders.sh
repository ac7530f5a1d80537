#!/usr/bin/env bash
# runner_orders.sh BUILD [SECONDS] [SEED]: sends mutated orders to real runners, for 30 minutes by
# default. The runner has to execute or reject each with a message; a signal, a hang or unbounded
# memory is a finding.
set -euo pipefail
build=${1:?folder of a build}
TILEWRIGHT_MUTATION_SECONDS=${2:-1800} TILEWRIGHT_MUTATION_SEED=${3:-1} \
  "$build/tests/measure_tests" --gtest_filter='RunnerOrders.*'
