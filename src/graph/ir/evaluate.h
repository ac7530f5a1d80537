#pragma once

#include <span>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Checks the types of inputs. Errors: kInvalidArgument, naming the input whose type differs from
/// the graph's.
Status CheckGraphInputs(const Graph& graph, std::span<const Tensor> inputs);

/// Values that an evaluation returns.
enum class KeepValues : std::uint8_t {
  kOutputs,  ///< the graph's outputs, in their order
  kAll,      ///< one per node, in node order; empty for inputs and constants
};

/// Evaluates a graph with the reference evaluator, operator by operator. Frees each value after its
/// last use unless it is kept.
///
/// inputs:  in the order of graph.inputs(), with exactly their types.
/// threads: maximum number of threads per operator.
/// Errors: kInvalidArgument, naming an input whose type differs from the graph's or a constant
/// without contents (see SeedConstants); errors of Evaluate, with the value's name.
Result<std::vector<Tensor>> EvaluateGraph(const Graph& graph, std::span<const Tensor> inputs,
                                          KeepValues keep = KeepValues::kOutputs, int threads = 1);

}  // namespace tilewright
