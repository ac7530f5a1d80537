#include "src/graph/ir/check_memory.h"

#include <algorithm>

namespace tilewright {

Status CheckMemory(const Graph& graph, std::int64_t available) {
  std::vector<bool> constant(graph.nodes().size(), false);
  std::int64_t lasting = 0;  // at most `available`, so that the sum cannot overflow
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const bool folded =
        node.kind == NodeKind::kOperator && std::ranges::all_of(node.inputs, [&](int input) {
          return constant[static_cast<std::size_t>(input)];
        });
    constant[static_cast<std::size_t>(id)] = folded || node.kind == NodeKind::kConstant;
    if (graph.Fill(id) != nullptr) continue;
    const std::int64_t bytes = lasting + node.type.bytes();
    TW_RETURN_IF_ERROR(CheckMemory(
        "the model with " + node.name + ", " + node.type.ToString() + ",", bytes, available));
    if (folded || node.kind != NodeKind::kOperator) lasting = bytes;
  }
  return Status();
}

}  // namespace tilewright
