#include "src/graph/ir/check_weights.h"

#include <fmt/format.h>

#include <cmath>

#include "src/graph/ir/operand.h"

namespace tilewright {
namespace {

/// Returns the constant that a weight comes from, possibly in another layout; -1 if it is not
/// constant.
int ConstantOf(const Graph& graph, int weight) {
  while (graph.node(weight).kind == NodeKind::kOperator && graph.node(weight).inputs.size() == 1) {
    weight = graph.node(weight).inputs[0];
  }
  return graph.node(weight).kind == NodeKind::kConstant ? weight : -1;
}

}  // namespace

std::vector<std::string> NonFiniteWeightNotes(const Graph& graph) {
  std::vector<std::string> notes;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    const int weight = ConstantOf(graph, node.inputs[1]);
    if (weight < 0 || !graph.node(weight).type.dtype.is_float()) continue;
    const Tensor* contents = graph.Contents(weight);
    if (contents == nullptr) continue;
    std::int64_t count = 0, first = 0;
    for (std::int64_t i = contents->elements() - 1; i >= 0; --i) {
      if (std::isfinite(contents->At(i))) continue;
      first = i;
      ++count;
    }
    if (count == 0) continue;
    notes.push_back(fmt::format(
        "weight {} of {}: {} of {} elements are infinite or NaN, the first is element {}. "
        "Their products with 0, also with padding, are NaN, so kernels and the reference may "
        "differ; the weight cannot be quantized",
        graph.node(weight).name, node.name, count, contents->elements(), first));
  }
  return notes;
}

}  // namespace tilewright
