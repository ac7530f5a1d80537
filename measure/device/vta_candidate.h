#pragma once

#include <vector>

#include "measure/device/device_runner.h"
#include "src/templates/registry.h"

// VTA candidates. The artifact is a stream file and the device is the simulator. Included by .cc
// files of measure/ only.

namespace tilewright::measure {

/// Builds the candidate's stream and writes it to order.path. Errors: the reason if the config is
/// not legal; those of writing the file.
Result<KernelSpec> BuildVtaKernel(const TemplateEntry& entry, const BuildOrder& order);

/// Runner of VTA candidates on the simulator. A reply contains the target's metric of a stream file
/// from a timing-only run. The runner also executes a candidate that may be the best so far with
/// each input set and compares its results with the reference. If best_seconds is 0, it executes
/// every candidate.
class VtaRunner final : public DeviceRunner {
 public:
  explicit VtaRunner(const RunWorkerSettings& /*settings*/) {}
  Result<std::vector<RunReply>> Run(const RunOrder& order, OperandCache& operand_cache) override;
};

}  // namespace tilewright::measure
