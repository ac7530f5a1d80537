#pragma once

#include <functional>

#include "src/base/status.h"
#include "src/compiler/check/check_process.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Subprocess in which commands run compiled code. An operator that crashes or hangs is named, and
/// the command ends with exit code 1 like any failure.
struct IsolatedProcess {
  /// Maximum processor time of one operator in seconds; the wall-clock limit is three times as
  /// long.
  double operator_seconds = 60;

  /// Declares `--operator-seconds`.
  void Declare(CLI::App& app);
  /// Runs the command in a process forked from this one, including its output, so that this process
  /// loads no library and no driver.
  /// Returns its exit code. Errors: kInternal naming the operator that crashed or hung.
  Result<int> Run(const char* command,
                  const std::function<Result<int>(CheckProgress&)>& body) const;
};

}  // namespace tilewright::cli
