#pragma once

#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// A group without an anchor, as an accelerator that works on packed tensors executes it.
struct AluGroup {
  Workload workload;        ///< add, mul, identity or max_pool2d
  Epilogue epilogue;        ///< what follows, or, for identity, all of it
  std::vector<int> inputs;  ///< data, the second tensor (if there is one), then the operands of the
                            ///< epilogue's steps: nodes whose values are in memory
};

/// What of a graph needs no product: on tensors NCHW<batch>n<block>c, a window's maximum, or
/// elementwise operators on integers the last of which makes int8. Operators on int8 count as
/// widened and narrowed again.
/// Errors: kUnsupported with the reason why the group is no such one.
Result<AluGroup> AluGroupOf(const Graph& graph, const FusedGroup& group);

}  // namespace tilewright
