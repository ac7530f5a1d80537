#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/reference/error_bound.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// The values of one run of a graph: what was observed of it, and what the reference evaluator
/// makes of that. An operator is so compared on the operands that it had itself: differences that
/// are allowed, such as roundings to float16, do not add up from operator to operator.
class RunValues {
 public:
  struct ReferenceValue {
    const Tensor* value;
    /// Of Compare: that of float16 if float16 values lie between what is known and this one.
    std::optional<double> tolerance;
  };

  /// graph: outlives this. inputs: in the order of graph.inputs(), of exactly their types.
  /// threads: at most this many are used.
  RunValues(const Graph& graph, std::span<const Tensor> inputs, int threads);

  /// The value of a node, evaluated from what is known before it.
  /// Errors: kInvalidArgument for a constant without contents; those of Evaluate.
  Result<ReferenceValue> Reference(int id);
  /// The value that Reference was last asked for, with what a right one may be off by: it is made
  /// again from the same operands, which takes longer. Before anything else is observed.
  /// winograd_tile: of convolutions on the way, as EvaluateBounded has it.
  /// Errors: those of Reference.
  Result<BoundedTensor> Bounded(std::int64_t winograd_tile = 0);
  /// The run's own value of an operator, from now on what its users are evaluated on.
  void Observe(int id, Tensor value);

 private:
  Status EvaluateNode(int id);
  const Tensor* ValueOf(int id) const;

  const Graph& graph_;
  int threads_;
  int asked_ = -1;
  std::vector<int> evaluated_;  // for it, in order
  std::vector<Tensor> made_;    // by node: inputs, and operators that are known
  std::vector<bool> known_;
};

}  // namespace tilewright
