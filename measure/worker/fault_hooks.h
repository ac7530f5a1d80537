#pragma once

#include <string>

namespace tilewright::measure {

/// What a test wants to go wrong inside a worker (Fault in messages.h). An empty name does nothing.

/// In the builder, before the build: "crash", "abort", "hang", "memory" (LLVM finds none left),
/// "allocate" (at once more than there is), "exit", "garbage" (on its output), "close" (its
/// output), "kill" (SIGKILL to itself).
void InjectBuilderFault(const std::string& name, int output_fd);

/// In the process of a candidate, before its first call: "kill_runner" (SIGKILL to the runner that
/// made it), "allocate", "garbage" (on every descriptor it has), "close" (every descriptor).
void InjectRunnerFault(const std::string& name);

}  // namespace tilewright::measure
