#pragma once

#include <string>

namespace tilewright::measure {

/// Injects a test's fault into a worker (Fault in messages.h). An empty name does nothing.

/// In the builder, before the build: "crash", "abort", "hang", "memory" (LLVM runs out of memory),
/// "allocate" (more than is available, at once), "exit", "garbage" (on its output), "close" (its
/// output), "kill" (SIGKILL to itself).
void InjectBuilderFault(const std::string& name, int output_fd);

/// In the process of a candidate, before its first call: "kill_runner" (SIGKILL to its runner),
/// "allocate", "garbage" (on all its descriptors), "close" (all descriptors).
void InjectRunnerFault(const std::string& name);

}  // namespace tilewright::measure
