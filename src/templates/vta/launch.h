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

/// A stream that was executed on tensors.
struct VtaLaunch {
  Tensor result;
  vta::RunResult run;
  std::vector<vta::Instruction> instructions;  ///< with addresses, for vta::Simulate
};

/// Executes a template's stream on an empty VTA.
/// tensors: data, weight (if any), then the tensor operands of the ALU's steps.
/// addends: of each of these operands, added to its int32 elements (VtaEpilogue).
/// result: its type. check_hazards: they do not depend on the data, so once is enough.
/// Errors: kInvalidArgument with the simulator's fault, or for tensors that are none of the
/// stream's.
Result<VtaLaunch> LaunchStream(const vta::Design& design, const vta::Stream& stream,
                               std::span<const Tensor* const> tensors,
                               std::span<const std::int32_t> addends, const TensorType& result,
                               bool check_hazards = true);

/// What a stream costs by each metric.
struct VtaCost {
  double cycles = 0, dram_bytes = 0;
  double Of(std::string_view metric) const { return metric == kVtaCycles ? cycles : dram_bytes; }
};
/// By a run for its timing only. cycles: false leaves them 0, which takes less time.
/// Errors: the simulator's fault.
Result<VtaCost> CostOfStream(const VtaTarget& vta, const vta::Stream& stream, bool cycles = true);

}  // namespace tilewright
