#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/target/cpu.h"

namespace tilewright::measure {

/// Identity of a runner on another machine.
struct RunnerIdentity {
  DeviceFingerprint device;
  std::string target;  ///< the target that `native` means there
};

/// Starts a runner with a shell command line ("ssh board tilewright-runner"), reads its handshake,
/// and ends it. Errors: kUnavailable with the command and its failure, which may be a different
/// protocol version.
Result<RunnerIdentity> ProbeRunner(const std::string& command);

/// Returns the argument vector that runs a shell command line.
std::vector<std::string> RunnerCommand(const std::string& command);

}  // namespace tilewright::measure
