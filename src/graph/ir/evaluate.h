#pragma once

#include <span>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Errors: kInvalidArgument naming the input whose type is not the graph's.
Status CheckGraphInputs(const Graph& graph, std::span<const Tensor> inputs);

/// Which values an evaluation hands back.
enum class KeepValues : std::uint8_t {
  kOutputs,  ///< those of the graph's outputs, in their order
  kAll,      ///< one per node, in node order; those of inputs and constants are empty
};

/// Evaluates a graph by the reference evaluator, one operator after the other, each value freed
/// after its last use unless it is kept.
///
/// inputs:  in the order of graph.inputs(), of exactly their types.
/// threads: at most this many are used per operator.
/// Errors: kInvalidArgument naming an input whose type is not the graph's, or a constant that has
/// no contents (see SeedConstants); those of Evaluate, with the value's name.
Result<std::vector<Tensor>> EvaluateGraph(const Graph& graph, std::span<const Tensor> inputs,
                                          KeepValues keep = KeepValues::kOutputs, int threads = 1);

}  // namespace tilewright
