#include "src/graph/passes/reduce_transposed.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/graph/ir/operand.h"
#include "src/graph/ir/rewrite.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Reduction of a value over some of its dimensions.
struct Reduced {
  OpKind kind;
  int value = -1;
  Shape axes;
};

/// Returns a reduction, or a global pool of sequences in the form of one.
std::optional<Reduced> ReducedBy(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kOperator || !node.type.dtype.is_float()) return std::nullopt;
  const OpKind kind = node.op.kind;
  if (FamilyOf(kind) == OpFamily::kReduction) {
    Reduced found{kind, node.inputs[0], node.op.attributes.axes};
    const std::int64_t rank = std::ssize(graph.node(found.value).type.shape);
    for (std::int64_t i = 0; found.axes.empty() && i < rank; ++i) found.axes.push_back(i);
    for (std::int64_t& axis : found.axes) axis += axis < 0 ? rank : 0;
    return found;
  }
  if (kind != OpKind::kGlobalAvgPool2d && kind != OpKind::kGlobalMaxPool2d) return std::nullopt;
  const std::string& layout = node.op.attributes.data_layout;
  const Node* image = OperatorOf(graph, node.inputs[0], OpKind::kReshape);
  if (image == nullptr || (!layout.empty() && layout != "NCHW")) return std::nullopt;
  const Shape &from = graph.node(image->inputs[0]).type.shape, &to = image->type.shape;
  if (from.size() != 3 || to != Shape{from[0], from[1], 1, from[2]}) return std::nullopt;
  const bool mean = kind == OpKind::kGlobalAvgPool2d;
  return Reduced{mean ? OpKind::kReduceMean : OpKind::kReduceMax, image->inputs[0], {2}};
}

/// Returns the reduction of what the transposition before it reads; none if there is none, or it
/// moves the remaining dimensions.
std::optional<Reduced> Untransposed(const Graph& graph, const Node& node) {
  auto found = ReducedBy(graph, node);
  if (!found) return std::nullopt;
  const Node* transpose = OperatorOf(graph, found->value, OpKind::kTranspose);
  if (transpose == nullptr) return std::nullopt;
  const Shape& axes = transpose->op.attributes.axes;
  const Shape& source = graph.node(transpose->inputs[0]).type.shape;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i];
    const bool reduced =
        std::ranges::find(found->axes, static_cast<std::int64_t>(i)) != found->axes.end();
    if (reduced || source[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  for (std::int64_t& axis : found->axes) axis = axes[static_cast<std::size_t>(axis)];
  std::ranges::sort(found->axes);
  found->value = transpose->inputs[0];
  return found;
}

}  // namespace

Result<Graph> ReduceUntransposed(Graph graph) {
  Rewriter rewriter(std::move(graph));
  for (int id = 0; id < rewriter.source().size(); ++id) {
    const Node& node = rewriter.source().node(id);
    const auto reduced = Untransposed(rewriter.source(), node);
    if (!reduced) {
      TW_RETURN_IF_ERROR(rewriter.Copy(id));
      continue;
    }
    Operator op{reduced->kind, {}};
    op.attributes.axes = reduced->axes;
    op.attributes.keepdims = true;
    const std::string name = node.name + (IsLocalName(node.name) ? "rows" : "#rows");
    TW_ASSIGN_OR_RETURN(const int rows, rewriter.result().AddOperator(
                                            name, std::move(op), {rewriter.At(reduced->value)}));
    Operator reshape{OpKind::kReshape, {}};
    reshape.attributes.new_shape = node.type.shape;
    TW_ASSIGN_OR_RETURN(const int made, rewriter.CopyAs(id, std::move(reshape), {rows}));
    rewriter.Map(id, made);
  }
  return rewriter.Finish();
}

}  // namespace tilewright
