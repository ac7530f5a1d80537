#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/graph/graph.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Passes return a new graph; nodes no output needs are dropped.
/// Evaluates every operator whose inputs are constants with contents.
Result<Graph> FoldConstants(Graph graph);
/// conv/dense -> batch_norm (or mul/add by per-channel constants) into weight and bias.
Result<Graph> FoldBatchNorm(Graph graph);
/// Removes identities, reshapes of reshapes, pads that a following convolution can do itself.
Result<Graph> Simplify(Graph graph);

/// One kernel: an anchor with its epilogue, or a chain of other operators.
struct FusedGroup {
  std::vector<int> nodes;     ///< operator nodes, topological; the last one is the group's result
  std::optional<int> anchor;  ///< node id of the anchor, if there is one
  Epilogue epilogue;          ///< of the anchor: the followers in `nodes`
  std::vector<int> inputs;    ///< anchor: data, weight, then the operands of the epilogue's steps;
                              ///< else the values read from outside
  int output = -1;            ///< node id whose value the group makes
};
/// Every operator node is in exactly one group; groups in topological order of their outputs.
Result<std::vector<FusedGroup>> FuseGroups(const Graph& graph);

/// One distinct tunable workload of a graph.
struct ExtractedTask {
  Workload workload;
  std::vector<std::string> sites;  ///< value names of the uses, in graph order
  std::vector<int> nodes;          ///< the anchors, in graph order
  Epilogue epilogue;               ///< the most frequent one of its uses (first on ties)
  std::int64_t occurrences() const { return static_cast<std::int64_t>(sites.size()); }
};
/// In order of first use, on the graph as imported (before folding, so that every anchor of the
/// source is there); epilogues come from the folded and fused graph.
Result<std::vector<ExtractedTask>> ExtractTasks(const Graph& graph);

}  // namespace tilewright
