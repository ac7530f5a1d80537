#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/templates/vta/vta_target.h"
#include "src/tensor/tensor.h"
#include "src/vta/isa.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/stream_builder.h"

namespace tilewright {

/// Result of a stream that was executed on tensors.
struct VtaLaunch {
  Tensor result;
  vta::RunResult run;
  std::vector<vta::Instruction> instructions;  ///< with addresses, for vta::Simulate
};

/// Executes a template's stream on an empty VTA.
/// tensors: data, weight (if any), then the tensor operands of the ALU's steps.
/// addends: of each of these operands, added to its int32 elements (VtaEpilogue).
/// result: its type. check_hazards: hazards do not depend on the data, so one check is enough.
/// Errors: kInvalidArgument with the simulator's fault, or if the tensors are not those of the
/// stream.
Result<VtaLaunch> LaunchStream(const vta::Design& design, const vta::Stream& stream,
                               std::span<const Tensor* const> tensors,
                               std::span<const std::int32_t> addends, const TensorType& result,
                               bool check_hazards = true);

/// Cost of a stream by each metric.
struct VtaCost {
  double cycles = 0, dram_bytes = 0;
  double Of(std::string_view metric) const { return metric == kVtaCycles ? cycles : dram_bytes; }
};
/// Returns the cost by a run for timing only. cycles: false leaves them 0, which takes less time.
/// Errors: the simulator's fault.
Result<VtaCost> CostOfStream(const VtaTarget& vta, const vta::Stream& stream, bool cycles = true);

}  // namespace tilewright
