#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/reference/error_bound.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Values of one run of a graph: observed ones, and those that the reference evaluator computes
/// from them. Each operator is compared on its own operands of the run. Allowed differences, such
/// as roundings to float16, thus do not add up from operator to operator.
class RunValues {
 public:
  struct ReferenceValue {
    const Tensor* value;
    /// Tolerance of Compare: that of float16 if float16 values are between the known values and
    /// this one.
    std::optional<double> tolerance;
  };

  /// graph: outlives this. inputs: in the order of graph.inputs(), of exactly their types.
  /// threads: at most this many are used.
  RunValues(const Graph& graph, std::span<const Tensor> inputs, int threads);

  /// Returns the value of a node, evaluated from the known values before it.
  /// Errors: kInvalidArgument for a constant without contents; those of Evaluate.
  Result<ReferenceValue> Reference(int id);
  /// Returns the last value of Reference with its error bounds. It is evaluated again from the same
  /// operands, which takes longer. Call it before the next Observe. winograd_tile: of convolutions
  /// on the way, as EvaluateBounded has it.
  /// Errors: those of Reference.
  Result<BoundedTensor> Bounded(std::int64_t winograd_tile = 0);
  /// Sets the run's own value of an operator. Its users are evaluated on this value from now on.
  void Observe(int id, Tensor value);

 private:
  Status EvaluateNode(int id);
  const Tensor* ValueOf(int id) const;

  const Graph& graph_;
  int threads_;
  int asked_ = -1;
  std::vector<int> evaluated_;  // for it, in order
  std::vector<Tensor> made_;    // by node: inputs, and known operators
  std::vector<bool> known_;
};

}  // namespace tilewright
