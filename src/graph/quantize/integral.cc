#include "src/graph/quantize/integral.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace tilewright::quantize {

Status CheckIntegral(const Graph& graph) {
  const auto count = static_cast<std::size_t>(graph.size());
  const auto is_integer = [&](int id) {
    const Node& node = graph.node(id);
    return node.kind == NodeKind::kOperator && node.type.dtype.is_integer();
  };
  std::vector<bool> behind(count, false), before(count, false);
  for (int id = 0; id < graph.size(); ++id) {
    for (int input : graph.node(id).inputs) {
      if (is_integer(input) || behind[static_cast<std::size_t>(input)]) {
        behind[static_cast<std::size_t>(id)] = true;
      }
    }
  }
  std::map<std::string, int> floats;
  for (int id = graph.size() - 1; id >= 0; --id) {
    const bool leads = before[static_cast<std::size_t>(id)] || is_integer(id);
    for (int input : graph.node(id).inputs) {
      if (leads) before[static_cast<std::size_t>(input)] = true;
    }
    const bool between =
        behind[static_cast<std::size_t>(id)] && before[static_cast<std::size_t>(id)];
    if (between && !is_integer(id)) ++floats[std::string(OpName(graph.node(id).op.kind))];
  }
  if (floats.empty()) return Status();
  std::string list;
  for (const auto& [name, uses] : floats) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, uses);
  }
  return Unsupported("operators between integers that work on floats: " + list);
}

}  // namespace tilewright::quantize
