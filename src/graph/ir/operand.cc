#include "src/graph/ir/operand.h"

#include <algorithm>

#include "src/tensor/layout.h"
#include "src/tensor/operator_table.h"

namespace tilewright {

std::vector<bool> ChannelDimensions(const Node& anchor) {
  std::vector<bool> channel(anchor.type.shape.size(), false);
  const OpKind kind = anchor.op.kind;
  const bool product = IsMatrixProduct(kind);
  // The result has the layout of the data except for the size of the channel block.
  auto layout = Layout::Parse(anchor.op.attributes.data_layout);
  if (!layout.ok() || layout->parts().size() != channel.size()) {
    if (product && !channel.empty()) channel.back() = true;
    return channel;
  }
  for (std::size_t i = 0; i < channel.size(); ++i) {
    channel[i] = layout->parts()[i].dimension == (product ? 'K' : 'C');
  }
  return channel;
}

std::optional<OperandKind> OperandKindOf(const TensorType& operand, const TensorType& value,
                                         const std::vector<bool>& channel) {
  if (operand.elements() == 1) return OperandKind::kScalar;
  if (operand.shape.size() > value.shape.size()) return std::nullopt;
  const std::size_t missing = value.shape.size() - operand.shape.size();
  bool per_channel = true;
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    const std::int64_t extent = i < missing ? 1 : operand.shape[i - missing];
    per_channel &= extent == (channel[i] ? value.shape[i] : 1);
  }
  if (per_channel) return OperandKind::kChannel;
  if (operand.shape == value.shape) return OperandKind::kTensor;
  return std::nullopt;
}

std::size_t RowWiseDimensions(const Operator& op, std::size_t rank) {
  const OpAttributes& a = op.attributes;
  const auto from_front = [rank](std::int64_t axis) {
    return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  };
  if (op.kind == OpKind::kSoftmax || op.kind == OpKind::kLogSoftmax) {
    return std::cmp_equal(from_front(a.axis) + 1, rank) ? 1 : 0;
  }
  if (FamilyOf(op.kind) != OpFamily::kReduction || !a.keepdims) return 0;
  std::vector<std::int64_t> axes;
  for (std::int64_t axis : a.axes) axes.push_back(from_front(axis));
  std::ranges::sort(axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!std::cmp_equal(axes[i], rank - axes.size() + i)) return 0;
  }
  return axes.size();
}

bool IsRowWise(const Operator& op, std::size_t rank) { return RowWiseDimensions(op, rank) == 1; }

const Node* OperatorOf(const Graph& graph, int id, OpKind kind) {
  const Node& node = graph.node(id);
  return node.kind == NodeKind::kOperator && node.op.kind == kind ? &node : nullptr;
}

bool IsBinaryElementwise(const Node& node) {
  return node.kind == NodeKind::kOperator && IsElementwise(node.op.kind) && node.inputs.size() == 2;
}

bool Commutes(OpKind kind) {
  return kind == OpKind::kAdd || kind == OpKind::kMul || kind == OpKind::kMax ||
         kind == OpKind::kMin;
}

int SingleUser(const Graph& graph, const std::vector<std::vector<int>>& users, int id) {
  const std::vector<int>& readers = users[static_cast<std::size_t>(id)];
  if (readers.size() != 1 || std::ranges::find(graph.outputs(), id) != graph.outputs().end()) {
    return -1;
  }
  return readers[0];
}

}  // namespace tilewright
