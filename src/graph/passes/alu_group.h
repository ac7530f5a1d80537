#pragma once

#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Group without an anchor, as an accelerator with packed tensors executes it on its ALU.
struct AluGroup {
  Workload workload;        ///< add, mul, identity or max_pool2d
  Epilogue epilogue;        ///< operators after the workload; for identity, all of them
  std::vector<int> inputs;  ///< data, the second tensor (if there is one), then the operands of the
                            ///< epilogue's steps: nodes whose values are in memory
};

/// Converts a group that needs no products: the maximum of a window, or elementwise integer
/// operators of which the last one makes int8. Tensors are NCHW<batch>n<block>c. Operators on int8
/// count as widened to int32 and narrowed again.
/// Errors: kUnsupported with the reason if the group does not have this structure.
Result<AluGroup> AluGroupOf(const Graph& graph, const FusedGroup& group);

}  // namespace tilewright
