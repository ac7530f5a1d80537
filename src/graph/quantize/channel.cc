#include "src/graph/quantize/channel.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::quantize {

std::size_t ChannelDimension(const Node& anchor) {
  if (anchor.op.kind != OpKind::kConv2d) return anchor.type.shape.size() - 1;
  return anchor.op.attributes.data_layout.find('C');
}

std::size_t OutputDimension(const Operator& anchor) {
  return anchor.kind == OpKind::kConv2d ? anchor.attributes.kernel_layout.find('O') : 0;
}

Result<std::size_t> ScaleDimension(const Graph& graph, const std::vector<std::vector<int>>& users,
                                   int id) {
  const Node& node = graph.node(id);
  const auto count = static_cast<std::int64_t>(node.mark.scales.size());
  if (count == 0) {
    return InvalidArgument("value " + node.name + " has no scale yet: run calibrate before");
  }
  if (count == 1) return std::size_t{0};
  const auto& shape = node.type.shape;
  auto dimension = static_cast<std::size_t>(std::ranges::find(shape, count) - shape.begin());
  for (int user : users[static_cast<std::size_t>(id)]) {
    if (IsAnchor(graph.node(user).op.kind)) dimension = OutputDimension(graph.node(user).op);
  }
  if (node.mark.value != ValueKind::kInput && dimension < shape.size() &&
      shape[dimension] == count) {
    return dimension;
  }
  return InvalidArgument(
      fmt::format("value {} has {} scales, expected 1 or, for weights, one for each output channel",
                  node.name, count));
}

}  // namespace tilewright::quantize
