#include <algorithm>

#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"

namespace tilewright {
namespace {

// Whether the weights of an anchor that may have narrow ones are, all of them.
bool IsNarrow(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kOperator) return false;
  if (node.op.kind != OpKind::kConv2d && node.op.kind != OpKind::kDense) return false;
  const DataType data = graph.node(node.inputs[0]).type.dtype;
  const bool bytes = data == kInt8 || data == kUInt8;
  if (!bytes || graph.node(node.inputs[1]).type.dtype != kInt8) return false;
  const Tensor* weight = graph.Contents(node.inputs[1]);
  return weight != nullptr && std::ranges::all_of(weight->As<std::int8_t>(), [](int value) {
           return value >= -kNarrowMagnitude && value <= kNarrowMagnitude;
         });
}

}  // namespace

Result<Graph> StateNarrowWeights(Graph graph) {
  std::vector<bool> narrow;
  for (const Node& node : graph.nodes()) narrow.push_back(IsNarrow(graph, node));
  if (std::ranges::none_of(narrow, [](bool is) { return is; })) return graph;
  Rewriter rewriter(std::move(graph));
  for (int id = 0; id < rewriter.source().size(); ++id) {
    if (!narrow[static_cast<std::size_t>(id)]) {
      TW_RETURN_IF_ERROR(rewriter.Copy(id));
      continue;
    }
    const Node& node = rewriter.source().node(id);
    Operator op = node.op;
    op.attributes.narrow_weights = true;
    auto copy = rewriter.CopyAs(id, std::move(op),
                                {rewriter.At(node.inputs[0]), rewriter.At(node.inputs[1])});
    TW_RETURN_IF_ERROR(copy);
    rewriter.Map(id, *copy);
  }
  return rewriter.Finish();
}

}  // namespace tilewright
