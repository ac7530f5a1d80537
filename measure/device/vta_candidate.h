#pragma once

#include <vector>

#include "measure/device/device_runner.h"
#include "src/templates/registry.h"

// VTA candidates: their artifact is a stream file, their device the simulator. Included by .cc
// files of measure/ only.

namespace tilewright::measure {

/// Builds the candidate's stream and writes it to order.path.
/// Errors: why the config is not legal; those of the file.
Result<KernelSpec> BuildVtaKernel(const TemplateEntry& entry, const BuildOrder& order);

/// The simulator. A reply has what the target's metric says of a stream file, by a timing-only run.
/// One that may be the best so far is also executed with each set of inputs, and its results
/// compared with the reference; with best_seconds 0 every one is.
class VtaRunner final : public DeviceRunner {
 public:
  explicit VtaRunner(const RunWorkerSettings& /*settings*/) {}
  Result<std::vector<RunReply>> Run(const RunOrder& order, OperandCache& operand_cache) override;
};

}  // namespace tilewright::measure
