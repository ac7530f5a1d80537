#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/epilogue.h"
#include "src/vta/design.h"
#include "src/vta/kernels/epilogue_writer.h"

namespace tilewright {

/// Whether the design loads int8 data into the accumulator and multiplies on the ALU. Only the
/// functional simulator and the OpenCL design do.
bool IsExtended(const vta::Design& design);

/// Epilogue as the ALU executes it.
struct VtaEpilogue {
  std::vector<vta::EpilogueStep> steps;
  /// For each tensor operand of the epilogue, in order: the addend of its elements, added before
  /// the launch. A constant that follows a bias is merged into it and costs no operation.
  std::vector<std::int32_t> operand_addends;
};
/// Translates an epilogue. It has to end in int8, since stores narrow to it.
/// gemm_adds: int8 tensors are added by products, so no design has to load them into the
/// accumulator.
/// Errors: kUnsupported with the step that the ALU cannot execute.
Result<VtaEpilogue> VtaEpilogueOf(const vta::Design& design, const Epilogue& epilogue,
                                  bool gemm_adds = false);

}  // namespace tilewright
