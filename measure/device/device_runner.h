#pragma once

#include <memory>
#include <vector>

#include "measure/evaluate/operand_cache.h"
#include "measure/messages.h"

// Devices that the runner measures on itself. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Measures candidates of one device in the runner's own process. Machine code has none: it runs in
/// processes of its own (candidate_process.h).
class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;
  /// One reply per item, in order; more than one item: a race.
  /// After a reply whose runner_ends is set the process must end at once, without destructors.
  /// Errors: kUnavailable or kNotFound if there is no device to be had.
  virtual Result<std::vector<RunReply>> Run(const RunOrder& order, OperandCache& operand_cache) = 0;
};

/// That of the target's device. Null where candidates run in processes of their own.
std::unique_ptr<DeviceRunner> MakeDeviceRunner(const Target& target,
                                               const RunWorkerSettings& settings);

}  // namespace tilewright::measure
