// Joining of neighboring dimensions that all stages read and write together, whole and in order:
// they are one dimension in memory. For example, [n, c, y, x] of an elementwise operator is [n * c
// * y * x]. Longer rows make longer vectors and fewer loops.
//
// Dimensions d and d + 1 of a tensor can be joined if in every stage that has them, the two axes
// are used for nothing else. A pair that fails excludes all dimensions that use its axes, and so on
// until nothing changes.

#include "src/tensor/expression/collapse.h"

#include <map>
#include <optional>
#include <utility>

namespace tilewright {
namespace {

class Collapser {
 public:
  explicit Collapser(const Expression& source) : source_(source) {
    const std::size_t tensors = source.inputs.size() + source.stages.size();
    for (std::size_t t = 0; t < tensors; ++t) {
      const std::size_t rank = source.TypeOf(static_cast<std::int64_t>(t)).shape.size();
      joins_.emplace_back(rank > 0 ? rank - 1 : 0, true);
    }
  }

  Expression Run() {
    changed_ = true;
    while (changed_) {
      changed_ = false;
      for (std::size_t s = 0; s < source_.stages.size(); ++s) CheckStage(s);
    }
    Expression result;
    for (std::size_t i = 0; i < source_.inputs.size(); ++i) {
      result.inputs.push_back(source_.inputs[i]);
      result.inputs.back().type.shape = Joined(i, source_.inputs[i].type.shape);
    }
    for (std::size_t s = 0; s < source_.stages.size(); ++s) result.stages.push_back(Rebuilt(s));
    return result;
  }

 private:
  using Pair = std::pair<std::int64_t, std::int64_t>;

  /// Returns a pair if indices d and d + 1 of a load are plain axes over all of both dimensions.
  std::optional<Pair> PairAt(const ExpressionStage& stage, const ExpressionNode& load,
                             std::size_t d) const {
    const ExpressionNode& a = stage.nodes[static_cast<std::size_t>(load.args[d])];
    const ExpressionNode& b = stage.nodes[static_cast<std::size_t>(load.args[d + 1])];
    if (a.kind != ExprKind::kVar || b.kind != ExprKind::kVar) return std::nullopt;
    const std::vector<std::int64_t> shape = source_.TypeOf(load.integer).shape;
    const auto own = static_cast<std::int64_t>(stage.axes.size());
    const bool whole =
        stage.axis(a.integer).extent == shape[d] && stage.axis(b.integer).extent == shape[d + 1];
    if (!whole || (a.integer < own) != (b.integer < own)) return std::nullopt;
    return Pair(a.integer, b.integer);
  }

  void Part(std::size_t tensor, std::size_t d) {
    if (!joins_[tensor][d]) return;
    joins_[tensor][d] = false;
    changed_ = true;
  }

  void CheckStage(std::size_t number) {
    const ExpressionStage& stage = source_.stages[number];
    const std::size_t own = source_.inputs.size() + number;
    const std::size_t axes = stage.axes.size() + stage.reduce_axes.size();
    // Uses of each axis, and loads with joined pairs by half.
    std::vector<int> mentions(axes, 0);
    std::map<Pair, int> pairs;
    for (const ExpressionNode& n : stage.nodes) {
      if (n.kind == ExprKind::kVar) ++mentions[static_cast<std::size_t>(n.integer)];
    }
    const auto for_each_pair = [&](const auto& visit) {
      for (const ExpressionNode& n : stage.nodes) {
        if (n.kind != ExprKind::kLoad) continue;
        const auto tensor = static_cast<std::size_t>(n.integer);
        for (std::size_t d = 0; d + 1 < n.args.size(); ++d) {
          if (joins_[tensor][d]) visit(tensor, d, PairAt(stage, n, d));
        }
      }
    };
    for_each_pair([&](std::size_t tensor, std::size_t d, const std::optional<Pair>& pair) {
      if (pair) {
        ++pairs[*pair];
      } else {
        Part(tensor, d);
      }
    });
    const auto holds = [&](const Pair& pair) {
      const auto found = pairs.find(pair);
      const int together = found == pairs.end() ? 0 : found->second;
      const bool only = mentions[static_cast<std::size_t>(pair.first)] == together &&
                        mentions[static_cast<std::size_t>(pair.second)] == together;
      const bool spatial = pair.first < static_cast<std::int64_t>(stage.axes.size());
      const bool ordered = stage.reduction >= ExpressionReduction::kArgMax;  // of positions
      if (!spatial) return only && (!ordered || pair.second == pair.first + 1);
      return only && pair.second == pair.first + 1 &&
             joins_[own][static_cast<std::size_t>(pair.first)];
    };
    for_each_pair([&](std::size_t tensor, std::size_t d, const std::optional<Pair>& pair) {
      if (!pair || !holds(*pair)) Part(tensor, d);
    });
    for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d) {
      const Pair pair(static_cast<std::int64_t>(d), static_cast<std::int64_t>(d) + 1);
      if (joins_[own][d] && !holds(pair)) Part(own, d);
    }
  }

  std::vector<std::int64_t> Joined(std::size_t tensor,
                                   const std::vector<std::int64_t>& shape) const {
    std::vector<std::int64_t> joined;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d > 0 && joins_[tensor][d - 1]) {
        joined.back() *= shape[d];
      } else {
        joined.push_back(shape[d]);
      }
    }
    return joined;
  }

  /// Returns, for each axis of the stage, the axis whose second half it is, or -1.
  std::vector<std::int64_t> Leaders(std::size_t number) const {
    const ExpressionStage& stage = source_.stages[number];
    std::vector<std::int64_t> leaders(stage.axes.size() + stage.reduce_axes.size(), -1);
    const std::size_t own = source_.inputs.size() + number;
    for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d) {
      if (joins_[own][d]) leaders[d + 1] = static_cast<std::int64_t>(d);
    }
    for (const ExpressionNode& n : stage.nodes) {
      if (n.kind != ExprKind::kLoad) continue;
      for (std::size_t d = 0; d + 1 < n.args.size(); ++d) {
        if (!joins_[static_cast<std::size_t>(n.integer)][d]) continue;
        const auto pair = PairAt(stage, n, d);
        leaders[static_cast<std::size_t>(pair->second)] = pair->first;
      }
    }
    return leaders;
  }

  ExpressionStage Rebuilt(std::size_t number) const {
    const ExpressionStage& stage = source_.stages[number];
    const std::vector<std::int64_t> leaders = Leaders(number);
    ExpressionStage made;
    made.name = stage.name;
    made.reduction = stage.reduction;
    // Extents of chains are stored at their first axis.
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      extents.push_back(stage.axis(static_cast<std::int64_t>(i)).extent);
    }
    const auto first = [&](std::int64_t axis) {
      while (leaders[static_cast<std::size_t>(axis)] >= 0) {
        axis = leaders[static_cast<std::size_t>(axis)];
      }
      return axis;
    };
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      if (leaders[i] < 0) continue;
      extents[static_cast<std::size_t>(first(static_cast<std::int64_t>(i)))] *=
          stage.axis(static_cast<std::int64_t>(i)).extent;
    }
    std::vector<std::int64_t> numbers(leaders.size(), -1);
    std::int64_t next = 0;
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      if (leaders[i] >= 0) continue;
      numbers[i] = next++;
      const ExpressionAxis axis{stage.axis(static_cast<std::int64_t>(i)).name, extents[i]};
      (i < stage.axes.size() ? made.axes : made.reduce_axes).push_back(axis);
    }
    const auto copy = [&](const auto& self, int i) -> int {
      ExpressionNode node = stage.nodes[static_cast<std::size_t>(i)];
      if (node.kind == ExprKind::kVar)
        node.integer = numbers[static_cast<std::size_t>(node.integer)];
      if (node.kind == ExprKind::kLoad) {
        std::vector<int> kept;
        for (std::size_t d = 0; d < node.args.size(); ++d) {
          // The first axis of a chain represents the whole chain.
          if (d == 0 || !joins_[static_cast<std::size_t>(node.integer)][d - 1]) {
            kept.push_back(node.args[d]);
          }
        }
        node.args = std::move(kept);
      }
      for (int& arg : node.args) arg = self(self, arg);
      made.nodes.push_back(std::move(node));
      return static_cast<int>(made.nodes.size()) - 1;
    };
    copy(copy, static_cast<int>(stage.nodes.size()) - 1);
    return made;
  }

  const Expression& source_;
  std::vector<std::vector<bool>> joins_;  // by tensor and dimension: it and the next are one
  bool changed_ = false;
};

}  // namespace

Expression Collapsed(const Expression& expression) { return Collapser(expression).Run(); }

}  // namespace tilewright
