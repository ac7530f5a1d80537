#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/target/cpu.h"

namespace tilewright::measure {

/// What a runner on another machine says of itself.
struct RunnerIdentity {
  DeviceFingerprint device;
  std::string target;  ///< its own target string, for `native`
};

/// Starts a runner with a shell's command line ("ssh board tilewright-runner"), asks what it is,
/// and ends it. Errors: kUnavailable with the command and what came of it; it may speak another
/// version of the protocol.
Result<RunnerIdentity> ProbeRunner(const std::string& command);

/// How a command line of a shell is started.
std::vector<std::string> RunnerCommand(const std::string& command);

}  // namespace tilewright::measure
