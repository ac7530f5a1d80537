#include <algorithm>

#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"

namespace tilewright {
namespace {

/// Returns the value whose transposition is the second operand of a product, if the product can
/// read it; else -1.
int ValueOfColumns(const Graph& graph, const Node& product) {
  if (product.kind != NodeKind::kOperator || product.op.kind != OpKind::kBatchMatmul ||
      product.op.attributes.kernel_layout != "BNK") {
    return -1;
  }
  const Node& operand = graph.node(product.inputs[1]);
  if (operand.type.shape[1] == 1) return -1;                          // one column is a row
  if (graph.node(product.inputs[0]).type.dtype.bits == 8) return -1;  // dot products take rows of K
  const bool turned = operand.kind == NodeKind::kOperator &&
                      operand.op.kind == OpKind::kTranspose &&
                      operand.op.attributes.axes == std::vector<std::int64_t>{0, 2, 1};
  return turned ? operand.inputs[0] : -1;
}

}  // namespace

Result<Graph> ReadColumns(Graph graph, const std::vector<FusedGroup>& groups) {
  constexpr std::int64_t kRowsOfAttention = 8;  // with fewer it is no kernel of its own
  std::vector<int> values;                      // by node
  for (const Node& node : graph.nodes()) values.push_back(ValueOfColumns(graph, node));
  const auto is_value = [](int value) { return value >= 0; };
  if (std::ranges::none_of(values, is_value)) return graph;
  for (const JoinedGroups& attention : FindAttention(graph, groups)) {
    for (int id : attention.whole.nodes) {
      const std::vector<std::int64_t>& shape = graph.node(id).type.shape;
      const bool few = shape.size() == 3 && shape[1] < kRowsOfAttention;
      if (!few) values[static_cast<std::size_t>(id)] = -1;
    }
  }
  if (std::ranges::none_of(values, is_value)) return graph;
  Rewriter rewriter(std::move(graph));
  for (int id = 0; id < rewriter.source().size(); ++id) {
    const int value = values[static_cast<std::size_t>(id)];
    if (value < 0) {
      TW_RETURN_IF_ERROR(rewriter.Copy(id));
      continue;
    }
    const Node& node = rewriter.source().node(id);
    Operator op = node.op;
    op.attributes.kernel_layout = "BKN";
    TW_ASSIGN_OR_RETURN(
        auto copy,
        rewriter.CopyAs(id, std::move(op), {rewriter.At(node.inputs[0]), rewriter.At(value)}));
    rewriter.Map(id, copy);
  }
  return rewriter.Finish();
}

}  // namespace tilewright
