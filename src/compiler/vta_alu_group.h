#pragma once

#include <vector>

#include "src/graph/passes.h"
#include "src/tensor/epilogue.h"
#include "src/vta/design.h"
#include "src/vta/epilogue_writer.h"

namespace tilewright {

/// A group without a product, such as a residual addition, as the ALU executes it: `data` goes
/// through the steps of an epilogue.
struct VtaAluGroup {
  int data = -1;              ///< node whose value is loaded first
  bool int8_data = false;     ///< and widened by the load; otherwise it is int32
  std::vector<int> operands;  ///< nodes of the tensor operands of the steps, in order
  Epilogue epilogue;
  vta::ResultBlocks result;  ///< sizes; blocks of one tile
};

/// What of a graph the ALU computes on its own: packed integer tensors, an addition or a product of
/// two of them (or of one and a constant), then elementwise operators, the last of which makes
/// int8.
/// Errors: kUnsupported with the reason why the group is no such one.
Result<VtaAluGroup> AluGroupOf(const vta::Design& design, const Graph& graph,
                               const FusedGroup& group);

}  // namespace tilewright
