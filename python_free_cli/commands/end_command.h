#pragma once

#include <functional>

#include "src/base/status.h"

namespace tilewright::cli {

/// `exit_code`, or the code of a failure if not all that was printed has arrived, which is told. A
/// reader that went away (| head) has what it wanted.
int CheckOutput(int exit_code);

/// Runs a command to its end: prints its error, if there is one, and what was not written of its
/// output. returns the exit code of the program.
int EndCommand(const char* name, const std::function<Result<int>()>& run);

}  // namespace tilewright::cli
