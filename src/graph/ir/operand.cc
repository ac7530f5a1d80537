#include "src/graph/ir/operand.h"

#include <algorithm>

#include "src/tensor/layout.h"
#include "src/tensor/operators/table.h"

namespace tilewright {

std::vector<bool> ChannelDimensions(const Node& anchor) {
  std::vector<bool> channel(anchor.type.shape.size(), false);
  const OpKind kind = anchor.op.kind;
  const bool product = IsMatrixProduct(kind);
  // The result has the data's layout, but for the size of the channel block.
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

bool WorksOnRows(const Operator& op, std::size_t rank) {
  const auto last = static_cast<std::int64_t>(rank) - 1;
  const auto is_last = [last](std::int64_t axis) { return axis == last || axis == -1; };
  const OpAttributes& a = op.attributes;
  if (op.kind == OpKind::kSoftmax || op.kind == OpKind::kLogSoftmax) return is_last(a.axis);
  return FamilyOf(op.kind) == OpFamily::kReduction && a.keepdims && a.axes.size() == 1 &&
         is_last(a.axes[0]);
}

bool IsBinaryElementwise(const Node& node) {
  return node.kind == NodeKind::kOperator && IsElementwise(node.op.kind) && node.inputs.size() == 2;
}

int SingleUser(const Graph& graph, const std::vector<std::vector<int>>& users, int id) {
  const std::vector<int>& readers = users[static_cast<std::size_t>(id)];
  if (readers.size() != 1 || std::ranges::find(graph.outputs(), id) != graph.outputs().end()) {
    return -1;
  }
  return readers[0];
}

}  // namespace tilewright
