#pragma once

#include <functional>

#include "src/base/status.h"

namespace tilewright::cli {

/// Returns `exit_code`, or the code of a failure if output was lost, which is reported. A closed
/// pipe (| head) is not a failure.
int CheckOutput(int exit_code);

/// Runs a command to its end: prints its error, if any, and reports lost output. Returns the exit
/// code of the program.
int EndCommand(const char* name, const std::function<Result<int>()>& run);

}  // namespace tilewright::cli
