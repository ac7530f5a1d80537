#pragma once

#include <memory>
#include <vector>

#include "measure/evaluate/operand_cache.h"
#include "measure/messages.h"

// Devices that the runner measures in its own process. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Measures candidates of one device in the runner's own process. Machine code has no DeviceRunner:
/// it runs in subprocesses (candidate_process.h).
class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;
  /// Returns one reply per item, in order; more than one item is a race. After a reply whose
  /// runner_ends is set the process must end at once, without destructors. Errors: kUnavailable or
  /// kNotFound if no device is available.
  virtual Result<std::vector<RunReply>> Run(const RunOrder& order, OperandCache& operand_cache) = 0;
};

/// Creates the runner of the target's device. Returns null if candidates of the target run in
/// subprocesses.
std::unique_ptr<DeviceRunner> MakeDeviceRunner(const Target& target,
                                               const RunWorkerSettings& settings);

}  // namespace tilewright::measure
