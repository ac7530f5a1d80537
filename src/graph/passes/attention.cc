// Attention is found from its end. Apart from data movement operators, the data of a batch_matmul
// are the result of a row-wise group with a softmax, and one input of that group is the result of
// another batch_matmul. Data movement operators before the products and after the last one belong
// to the attention if it is the only user of their results.

#include <algorithm>
#include <optional>

#include "src/graph/ir/data_movement.h"
#include "src/graph/ir/operand.h"
#include "src/graph/passes/passes.h"

namespace tilewright {
namespace {

class AttentionFinder {
 public:
  AttentionFinder(const Graph& graph, const std::vector<FusedGroup>& groups)
      : graph_(graph),
        groups_(groups),
        users_(graph.Users()),
        group_of_(graph.nodes().size(), -1),
        taken_(groups.size(), false) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (int node : groups[i].nodes)
        group_of_[static_cast<std::size_t>(node)] = static_cast<int>(i);
    }
  }

  std::vector<JoinedGroups> Run() {
    std::vector<JoinedGroups> found;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      auto attention = EndingIn(i);
      if (!attention) continue;
      for (std::size_t part : attention->parts) taken_[part] = true;
      found.push_back(*std::move(attention));
    }
    return found;
  }

 private:
  /// Value, and the groups that only moved its elements.
  struct Origin {
    int value = -1;
    std::vector<std::size_t> moves;
  };

  std::optional<std::size_t> GroupOf(int value) const {
    const int group = group_of_[static_cast<std::size_t>(value)];
    if (group < 0 || groups_[static_cast<std::size_t>(group)].output != value) return std::nullopt;
    return static_cast<std::size_t>(group);
  }
  /// Returns the group that computes an input of this group, if nothing else reads the value.
  std::optional<std::size_t> OwnGroupOf(int value) const {
    const auto group = GroupOf(value);
    if (!group || taken_[*group] || SingleUser(graph_, users_, value) < 0) return std::nullopt;
    return group;
  }
  bool IsDataMovement(const FusedGroup& group) const {
    return !group.anchor && group.inputs.size() == 1 &&
           std::ranges::all_of(group.nodes,
                               [&](int id) { return IsRearrangement(graph_.node(id).op.kind); });
  }
  bool IsProduct(const FusedGroup& group) const {
    return group.anchor && graph_.node(*group.anchor).op.kind == OpKind::kBatchMatmul;
  }
  bool HasSoftmax(const FusedGroup& group) const {
    return !group.anchor && std::ranges::count_if(group.nodes, [&](int id) {
                              return graph_.node(id).op.kind == OpKind::kSoftmax;
                            }) == 1;
  }

  Origin OriginOf(int value) const {
    Origin origin{value, {}};
    while (const auto group = OwnGroupOf(origin.value)) {
      if (!IsDataMovement(groups_[*group])) break;
      origin.moves.push_back(*group);
      origin.value = groups_[*group].inputs[0];
    }
    return origin;
  }

  /// Returns the product whose rows `softmax` reads, with the data movement between them.
  std::optional<Origin> ScoresOf(const FusedGroup& softmax) const {
    for (int input : softmax.inputs) {
      Origin origin = OriginOf(input);
      const auto group = OwnGroupOf(origin.value);
      if (group && IsProduct(groups_[*group])) return origin;
    }
    return std::nullopt;
  }

  /// Returns the data movement groups after a value, up to the last one that is more than a view.
  std::vector<std::size_t> TrailingDataMovement(int value) const {
    std::vector<std::size_t> moves;
    std::size_t kept = 0;
    for (int user = SingleUser(graph_, users_, value); user >= 0;
         user = SingleUser(graph_, users_, value)) {
      const auto group = static_cast<std::size_t>(group_of_[static_cast<std::size_t>(user)]);
      if (taken_[group] || !IsDataMovement(groups_[group])) break;
      moves.push_back(group);
      if (!groups_[group].alias) kept = moves.size();
      value = groups_[group].output;
    }
    moves.resize(kept);
    return moves;
  }

  /// Returns the groups that make a mask of pairs from constants, among other values, if nothing
  /// else reads it (ComputePairMasks).
  std::vector<std::size_t> MaskOf(int value) const {
    std::vector<std::size_t> groups;
    bool constants = false;
    return AddMask(value, groups, constants) && constants ? groups : std::vector<std::size_t>();
  }
  /// Returns false if the value cannot be computed by the attention.
  bool AddMask(int value, std::vector<std::size_t>& groups, bool& constants) const {
    const auto number = OwnGroupOf(value);
    if (!number) return false;
    const FusedGroup& group = groups_[*number];
    const bool elementwise = std::ranges::all_of(group.nodes, [&](int id) {
      const OpKind kind = graph_.node(id).op.kind;
      return IsElementwise(kind) || IsComparisonOrSelect(kind);
    });
    if (group.anchor || group.alias || !elementwise) return false;
    groups.push_back(*number);
    constants = constants || std::ranges::all_of(group.inputs, [&](int input) {
                  return graph_.node(input).kind == NodeKind::kConstant;
                });
    for (int input : group.inputs) {
      if (IsPairs(input) && !AddMask(input, groups, constants)) return false;
    }
    return true;
  }
  /// Returns true for several rows of several columns.
  bool IsPairs(int value) const {
    const std::vector<std::int64_t>& shape = graph_.node(value).type.shape;
    return shape.size() >= 2 && shape[shape.size() - 1] > 1 && shape[shape.size() - 2] > 1;
  }

  std::optional<JoinedGroups> EndingIn(std::size_t last) const {
    if (taken_[last] || !IsProduct(groups_[last])) return std::nullopt;
    const FusedGroup& product = groups_[last];
    const Origin chances = OriginOf(product.inputs[0]);
    const auto softmax = OwnGroupOf(chances.value);
    if (!softmax || !HasSoftmax(groups_[*softmax])) return std::nullopt;
    const auto scores = ScoresOf(groups_[*softmax]);
    if (!scores) return std::nullopt;
    const std::size_t first = *OwnGroupOf(scores->value);

    JoinedGroups joined;
    const auto take = [&](const std::vector<std::size_t>& parts) {
      joined.parts.insert(joined.parts.end(), parts.begin(), parts.end());
    };
    take({last, *softmax, first});
    take(chances.moves);
    take(scores->moves);
    for (int input : {product.inputs[1], groups_[first].inputs[0], groups_[first].inputs[1]}) {
      take(OriginOf(input).moves);
    }
    take(TrailingDataMovement(product.output));
    for (int input : groups_[*softmax].inputs) take(MaskOf(input));
    std::ranges::sort(joined.parts);
    const auto twice = std::ranges::unique(joined.parts);
    joined.parts.erase(twice.begin(), twice.end());
    Join(joined);
    return joined;
  }

  void Join(JoinedGroups& joined) const {
    FusedGroup& whole = joined.whole;
    for (std::size_t part : joined.parts) {
      const std::vector<int>& nodes = groups_[part].nodes;
      whole.nodes.insert(whole.nodes.end(), nodes.begin(), nodes.end());
    }
    std::ranges::sort(whole.nodes);
    whole.output = groups_[joined.parts.back()].output;
    whole.inputs = InputsOf(graph_, whole.nodes);
  }

  const Graph& graph_;
  const std::vector<FusedGroup>& groups_;
  const std::vector<std::vector<int>> users_;
  std::vector<int> group_of_;  // node -> position in groups_
  std::vector<bool> taken_;
};

}  // namespace

std::vector<JoinedGroups> FindAttention(const Graph& graph, const std::vector<FusedGroup>& groups) {
  return AttentionFinder(graph, groups).Run();
}

}  // namespace tilewright
