#pragma once

#include <functional>

#include "src/base/status.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/run/run.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Commands that run compiled code do it in a process of their own: code that crashes or does not
/// end is named, and ends with exit code 1 like any failure.
struct IsolatedProcess {
  /// Longest that one operator may run, of processor time, or three times as long of the clock.
  double operator_seconds = 60;

  /// `--operator-seconds`.
  void Declare(CLI::App& app);
  /// Runs the command in a process forked from this one: all of it, what it prints included, so
  /// that this one has loaded nothing and knows no driver.
  /// returns its exit code. Errors: kInternal naming the operator that crashed or did not end.
  Result<int> Run(const char* command,
                  const std::function<Result<int>(CheckProgress&)>& body) const;
};

/// Says which operators a network has, before they run. factor: how much longer they may take than
/// a library's.
void RegisterOperators(const RunnableNetwork& network, CheckProgress& progress,
                       std::int64_t factor = 1);
/// Runs it once; which operator of a GPU's library runs nobody is told: to look on, a run would
/// have to wait after each.
Result<std::vector<Tensor>> RunWithProgress(const RunnableNetwork& network,
                                            std::span<const Tensor> inputs,
                                            CheckProgress& progress);

}  // namespace tilewright::cli
