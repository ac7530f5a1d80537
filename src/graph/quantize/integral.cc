#include "src/graph/quantize/integral.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace tilewright::quantize {
namespace {

/// Position of operators relative to those that make integers.
class IntegerReach {
 public:
  explicit IntegerReach(const Graph& graph) : graph_(graph) {
    downstream_.resize(static_cast<std::size_t>(graph.size()));
    upstream_.resize(static_cast<std::size_t>(graph.size()));
    for (int id = 0; id < graph.size(); ++id) {
      for (int input : graph.node(id).inputs) {
        if (Makes(input) || IsDownstream(input)) downstream_[static_cast<std::size_t>(id)] = true;
      }
    }
    for (int id = graph.size() - 1; id >= 0; --id) {
      if (!IsUpstream(id) && !Makes(id)) continue;
      for (int input : graph.node(id).inputs) upstream_[static_cast<std::size_t>(input)] = true;
    }
  }

  bool Makes(int id) const {
    const Node& node = graph_.node(id);
    return node.kind == NodeKind::kOperator && node.type.dtype.is_integer();
  }
  bool IsDownstream(int id) const { return downstream_[static_cast<std::size_t>(id)]; }
  bool IsUpstream(int id) const { return upstream_[static_cast<std::size_t>(id)]; }

 private:
  const Graph& graph_;
  std::vector<bool> downstream_, upstream_;
};

}  // namespace

Status CheckIntegral(const Graph& graph) {
  const IntegerReach integers(graph);
  std::map<std::string, int> floats;
  for (int id = 0; id < graph.size(); ++id) {
    const bool between = integers.IsDownstream(id) && integers.IsUpstream(id);
    if (between && !integers.Makes(id)) ++floats[std::string(OpName(graph.node(id).op.kind))];
  }
  if (floats.empty()) return Status();
  std::string list;
  for (const auto& [name, uses] : floats) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, uses);
  }
  return Unsupported("operators between integers that work on floats: " + list);
}

Result<FunctionSplit> SplitConversions(const Graph& graph) {
  enum : int { kEnter, kCore, kLeave };
  const IntegerReach integers(graph);
  FunctionSplit split{{"quantize_inputs", "quantized_main", "dequantize_outputs"}, {}};
  bool any = false;
  for (int id = 0; id < graph.size(); ++id) {
    const bool downstream = integers.IsDownstream(id);
    // The operator that makes the first integers is the last one of the conversion of inputs.
    const bool core = downstream && (integers.Makes(id) || integers.IsUpstream(id));
    const bool enters = !downstream && (integers.Makes(id) || integers.IsUpstream(id));
    split.function_of.push_back(core ? kCore : enters ? kEnter : kLeave);
    any |= core;
  }
  if (any) return split;
  return InvalidArgument(
      "partition_conversions: no operator works on integers, so there is nothing to split: "
      "realize must run");
}

}  // namespace tilewright::quantize
