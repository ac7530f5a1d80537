#include "src/graph/quantize/value_flow.h"

#include <algorithm>

#include "src/graph/ir/data_movement.h"
#include "src/graph/ir/rewrite.h"
#include "src/tensor/operator_table.h"

namespace tilewright::quantize {
namespace {

std::size_t Index(int id) { return static_cast<std::size_t>(id); }

bool IsPool(OpKind kind) { return FamilyOf(kind) == OpFamily::kPool; }

class FlowFinder {
 public:
  FlowFinder(const Graph& graph, const Config& config)
      : graph_(graph), config_(config), users_(graph.Users()) {}

  ValueFlow Run() {
    const auto count = static_cast<std::size_t>(graph_.size());
    flow_.quantized.resize(count);
    flow_.feeds_quantized.resize(count);
    flow_.reaches_quantized.resize(count);
    flow_.inside.resize(count);
    flow_.non_negative.resize(count);
    for (int id = 0; id < graph_.size(); ++id) flow_.root.push_back(id);
    FindQuantized();
    for (int id = graph_.size() - 1; id >= 0; --id) FindLead(id);
    for (int id = 0; id < graph_.size(); ++id) FindExpression(id);
    for (int id = 0; id < graph_.size(); ++id) flow_.non_negative[Index(id)] = NotNegative(id);
    return std::move(flow_);
  }

 private:
  void FindQuantized() {
    std::int64_t convolutions = 0;
    for (int id : PostOrder(graph_)) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
      std::string reason = ReasonForFloat(graph_, node, convolutions, config_);
      if (node.op.kind == OpKind::kConv2d) ++convolutions;
      flow_.quantized[Index(id)] = reason.empty();
      if (!reason.empty()) flow_.left.push_back({node.name, node.op.kind, std::move(reason)});
    }
  }

  void FindLead(int id) {
    for (int user : users_[Index(id)]) {
      const Node& node = graph_.node(user);
      const OpKind kind = node.op.kind;
      const bool first = node.inputs[0] == id;
      bool reaches_quantized = false;
      if (IsAnchor(kind)) {
        reaches_quantized = first && flow_.quantized[Index(user)];
        if (reaches_quantized) flow_.feeds_quantized[Index(id)] = true;
      } else if (IsElementwise(kind) || IsPool(kind) || kind == OpKind::kConcat ||
                 kind == OpKind::kReduceMean || (first && IsFirstInputDataMovement(node.op))) {
        reaches_quantized = flow_.reaches_quantized[Index(user)];
      }
      if (reaches_quantized) flow_.reaches_quantized[Index(id)] = true;
    }
  }

  /// Returns true if all inputs of an elementwise operator are constant or in the expression.
  bool Belongs(int id, const std::vector<bool>& members) const {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::kOperator || !IsElementwise(node.op.kind)) return false;
    return std::ranges::all_of(node.inputs, [&](int input) {
      return members[Index(input)] || graph_.node(input).kind == NodeKind::kConstant;
    });
  }

  bool Leaves(int id, const std::vector<bool>& members) const {
    const bool read =
        std::ranges::any_of(users_[Index(id)], [&](int user) { return !members[Index(user)]; });
    return read || std::ranges::count(graph_.outputs(), id) != 0;
  }

  void FindExpression(int id) {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::kOperator || users_[Index(id)].size() < 2) return;
    if (flow_.root[Index(id)] != id) return;  // part of a larger expression
    constexpr std::size_t kMaxMembers = 32;
    std::vector<bool> members(users_.size(), false);
    members[Index(id)] = true;
    std::vector<int> list = {id};
    for (std::size_t i = 0; i < list.size() && list.size() <= kMaxMembers; ++i) {
      std::vector<int> next = users_[Index(list[i])];
      std::ranges::sort(next);
      for (int user : next) {
        if (members[Index(user)] || !Belongs(user, members)) continue;
        members[Index(user)] = true;
        list.push_back(user);
      }
    }
    std::ranges::sort(list);
    const auto exits =
        std::ranges::count_if(list, [&](int member) { return Leaves(member, members); });
    // The result of the expression is its last value.
    if (exits != 1 || !Leaves(list.back(), members) || list.size() < 2) return;
    for (int member : list) flow_.root[Index(member)] = id;
    for (int member : list) flow_.inside[Index(member)] = member != list.back();
  }

  bool Known(int id) const { return flow_.non_negative[Index(id)]; }

  bool NotNegative(int id) const {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::kConstant) {
      constexpr std::int64_t kMaxElements = 1 << 16;
      const Tensor* contents = graph_.Contents(id);
      if (contents == nullptr || contents->elements() > kMaxElements) return false;
      for (std::int64_t i = 0; i < contents->elements(); ++i) {
        if (!(contents->At(i) >= 0)) return false;
      }
      return true;
    }
    if (node.kind != NodeKind::kOperator) return false;
    const auto all = [&] {
      return std::ranges::all_of(node.inputs, [&](int input) { return Known(input); });
    };
    if (RowOf(node.op.kind).non_negative) return true;
    switch (node.op.kind) {
      case OpKind::kClip:
        return node.op.attributes.a_min >= 0 || Known(node.inputs[0]);
      case OpKind::kMax:
        return Known(node.inputs[0]) || Known(node.inputs[1]);
      case OpKind::kMul:
        return all() || node.inputs[0] == node.inputs[1];
      case OpKind::kAdd:
      case OpKind::kDiv:
      case OpKind::kMin:
      case OpKind::kConcat:
        return all();
      case OpKind::kPad:
        return node.op.attributes.pad_value >= 0 && Known(node.inputs[0]);
      case OpKind::kReduceMean:
      case OpKind::kReduceSum:
      case OpKind::kReduceMax:
      case OpKind::kReduceMin:
        return Known(node.inputs[0]);
      default:
        return (IsPool(node.op.kind) || IsFirstInputDataMovement(node.op)) && Known(node.inputs[0]);
    }
  }

  const Graph& graph_;
  const Config& config_;
  std::vector<std::vector<int>> users_;
  ValueFlow flow_;
};

}  // namespace

bool IsFirstInputDataMovement(const Operator& op) {
  return IsDataMovement(op.kind) || op.kind == OpKind::kLayoutTransform ||
         (op.kind == OpKind::kPad && op.attributes.pad_value == 0);
}

ValueFlow FlowOf(const Graph& graph, const Config& config) {
  return FlowFinder(graph, config).Run();
}

}  // namespace tilewright::quantize
