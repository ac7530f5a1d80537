#include "src/graph/ir/output_channels.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/graph/ir/operand.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

/// Returns the dimension of a weight that counts outputs; nullopt for a blocked layout.
std::optional<std::size_t> OutputDimension(const Operator& anchor) {
  const bool dense = anchor.kind == OpKind::kDense;
  const std::string& text = anchor.attributes.kernel_layout;
  if (dense && text.empty()) return 0;
  auto layout = Layout::Parse(text);
  const std::size_t position = text.find(dense ? 'N' : 'O');
  if (!layout.ok() || layout->primal() != text || position == std::string::npos) return {};
  return position;
}

/// Like TrailingDimensionsOfScales, for one user; nullopt if the user does not determine it.
std::optional<std::size_t> TrailingDimensionsFor(const Graph& graph, int user, int id) {
  const Node& node = graph.node(user);
  if (IsAnchor(node.op.kind)) {
    const auto channels = OutputChannelsOf(graph, node);
    if (!channels || node.inputs[1] != id) return {};
    return graph.node(id).type.shape.size() - 1 - channels->weight;
  }
  if (!IsBias(graph, user, id)) return {};
  // Broadcasting aligns the last dimensions.
  const Node& anchor = graph.node(node.inputs[0]);
  const auto channels = OutputChannelsOf(graph, anchor);
  if (!channels) return {};
  return anchor.type.shape.size() - 1 - channels->result;
}

}  // namespace

std::optional<OutputChannels> OutputChannelsOf(const Graph& graph, const Node& anchor) {
  const bool transposed = anchor.op.kind == OpKind::kConv2dTranspose;
  if (anchor.op.kind != OpKind::kConv2d && anchor.op.kind != OpKind::kDense && !transposed) {
    return {};
  }
  const std::vector<bool> flags = ChannelDimensions(anchor);
  const auto weight = OutputDimension(anchor.op);
  if (std::ranges::count(flags, true) != 1 || !weight) return {};
  const auto result = static_cast<std::size_t>(std::ranges::find(flags, true) - flags.begin());
  const auto& shape = graph.node(anchor.inputs[1]).type.shape;
  // In a depthwise HWOI kernel the outputs are two dimensions.
  if (*weight >= shape.size() || shape[*weight] != anchor.type.shape[result]) return {};
  return OutputChannels{result, *weight};
}

bool IsBias(const Graph& graph, int sum, int operand) {
  const Node& node = graph.node(sum);
  if (node.op.kind != OpKind::kAdd || node.inputs[1] != operand) return false;
  const Node& anchor = graph.node(node.inputs[0]);
  return anchor.kind == NodeKind::kOperator && IsAnchor(anchor.op.kind) &&
         anchor.type.shape == node.type.shape &&
         OperandKindOf(graph.node(operand).type, node.type, ChannelDimensions(anchor)) ==
             OperandKind::kChannel;
}

Result<std::size_t> TrailingDimensionsOfScales(const Graph& graph,
                                               const std::vector<std::vector<int>>& users, int id) {
  const Node& node = graph.node(id);
  const auto count = static_cast<std::int64_t>(node.annotation.scales.size());
  if (count == 0) {
    return InvalidArgument("value " + node.name + " has no scale: run calibrate first");
  }
  if (count == 1) return std::size_t{0};
  const auto& shape = node.type.shape;
  for (int user : users[static_cast<std::size_t>(id)]) {
    const auto trailing_dimensions = TrailingDimensionsFor(graph, user, id);
    const bool fits = trailing_dimensions && *trailing_dimensions < shape.size() &&
                      shape[shape.size() - 1 - *trailing_dimensions] == count;
    if (fits && node.annotation.value != ValueKind::kInput) return *trailing_dimensions;
  }
  return InvalidArgument(
      fmt::format("value {} has {} scales, expected 1 or, for weights, one for each output channel",
                  node.name, count));
}

}  // namespace tilewright
