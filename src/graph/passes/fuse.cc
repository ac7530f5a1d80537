// Groups grow in topological order: each operator joins the group that ends in one of its inputs,
// or starts a group. A cast whose only user is an elementwise operator of two inputs waits for that
// operator. The operator then includes it as a step on the main chain or in the other operand. A
// cast of quantized numbers followed by the subtraction of their zero point waits too, except for
// the VTA, which has no step for it.

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "src/graph/ir/operand.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Longer chains are split. The time to compile a kernel grows with the square of its number of
// operators, and the recursion depth over its expressions grows with each operator.
constexpr std::size_t kMaxOperators = 128;
// An activation that reads its argument twice has few operators.
constexpr std::size_t kMaxOfDiamond = 16;

bool IsAlias(OpKind kind) { return kind == OpKind::kReshape || kind == OpKind::kIdentity; }

// Returns true if one loop nest over the result computes the operator, so that it can also compute
// followers.
bool AcceptsFollowers(OpKind kind) {
  switch (kind) {
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
    case OpKind::kConcat:
    case OpKind::kReshape:
    case OpKind::kIdentity:
    case OpKind::kRecurrence:
    case OpKind::kExpression:
      return false;
    default:
      return true;
  }
}

bool IsCast(OpKind kind) { return kind == OpKind::kCast || kind == OpKind::kSaturateCast; }

// Returns true if the epilogue's text can be parsed again: it is within the limits for steps and
// characters.
bool CanBeRead(const Epilogue& epilogue) { return Epilogue::Parse(epilogue.ToString()).ok(); }

// Returns the dimensions of `whole` that a value of another shape has, which broadcasts to it, as
// bits.
int KeptDimensions(const Shape& shape, const Shape& whole) {
  int kept = 0;
  const std::size_t missing = whole.size() - std::min(shape.size(), whole.size());
  for (std::size_t i = missing; i < whole.size(); ++i) {
    if (shape[i - missing] != 1) kept |= 1 << i;
  }
  return kept;
}

class Fuser {
 public:
  Fuser(const Graph& graph, FuseRule rule)
      : graph_(graph),
        rule_(rule),
        users_(graph.Users()),
        group_of_(graph.nodes().size(), -1),
        waiting_(graph.nodes().size(), false) {}

  std::vector<FusedGroup> Run() {
    for (const Node& node : graph_.nodes()) {
      if (node.kind == NodeKind::kOperator && !node.inputs.empty() && IsOfRows(node)) {
        dimensions_of_rows_.insert(RowWiseDimensions(node));
      }
    }
    for (int id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::kOperator || HasGroup(id)) continue;
      if (JoinDiamond(id) || StartRows(id)) continue;
      if (IsAlias(node.op.kind)) {
        AddAlias(id);
      } else if (IsBinaryElementwise(node)) {
        AddBinary(id);
      } else if (IsElementwise(node.op.kind)) {
        AddUnary(id);
      } else {
        Start(id);
      }
    }
    for (FusedGroup& group : groups_) Finish(group);
    std::ranges::sort(groups_, {}, &FusedGroup::output);
    return std::move(groups_);
  }

 private:
  const Node& At(int id) const { return graph_.node(id); }
  bool Waits(int id) const { return waiting_[static_cast<std::size_t>(id)]; }
  void SetWaiting(int id, bool waits) { waiting_[static_cast<std::size_t>(id)] = waits; }
  // Returns the waiting operators that end in `id`, in order of execution; empty if it does not
  // wait.
  std::vector<int> Waiting(int id) const {
    std::vector<int> chain;
    for (; Waits(id); id = At(id).inputs[0]) chain.insert(chain.begin(), id);
    return chain;
  }
  // Returns the input of the waiting operators that end in `id`; `id` if it does not wait.
  int SourceOf(int id) const {
    while (Waits(id)) id = At(id).inputs[0];
    return id;
  }
  FusedGroup* GroupOf(int id) {
    const int group = group_of_[static_cast<std::size_t>(id)];
    return group < 0 ? nullptr : &groups_[static_cast<std::size_t>(group)];
  }
  bool HasGroup(int id) const { return group_of_[static_cast<std::size_t>(id)] >= 0; }

  // Returns true if the rule ends a group at `value`.
  bool EndsBehind(int value, int follower) const {
    if (rule_ == FuseRule::kUnrestricted || At(value).type.dtype != kInt8) return false;
    return rule_ == FuseRule::kUntilInt8 || !Waits(follower);
  }

  // Returns the group that `follower` may join through its input `value`; null if there is none.
  FusedGroup* Open(int value, int follower) {
    FusedGroup* group = GroupOf(value);
    if (group == nullptr || group->output != value || group->alias) return nullptr;
    if (group->nodes.size() >= kMaxOperators) return nullptr;
    if (SingleUser(graph_, users_, value) != follower) return nullptr;
    if (EndsBehind(value, follower)) return nullptr;
    if (At(follower).type.shape != At(value).type.shape) return nullptr;
    return group->anchor || AcceptsFollowers(At(group->nodes[0]).op.kind) ? group : nullptr;
  }

  FusedGroup& Start(int id) {
    FusedGroup group;
    if (IsAnchor(At(id).op.kind)) {
      group.anchor = id;
      group.inputs = At(id).inputs;
    }
    groups_.push_back(std::move(group));
    Join(groups_.back(), id);
    return groups_.back();
  }

  void Join(FusedGroup& group, int id) {
    group.nodes.push_back(id);
    group.output = id;
    group_of_[static_cast<std::size_t>(id)] = static_cast<int>(&group - groups_.data());
  }

  void AddAlias(int id) {
    const int value = At(id).inputs[0];
    if (At(id).op.kind == OpKind::kIdentity) {
      if (FusedGroup* group = Open(value, id)) return Join(*group, id);
    }
    FusedGroup* before = GroupOf(value);
    if (before != nullptr && before->alias && SingleUser(graph_, users_, value) == id) {
      return Join(*before, id);
    }
    Start(id).alias = true;
  }

  void AddUnary(int id) {
    const int value = At(id).inputs[0];
    const int user = SingleUser(graph_, users_, id);
    if (At(id).op.kind == OpKind::kCast && user >= 0 && IsBinaryElementwise(At(user)) &&
        At(user).type.shape == At(id).type.shape) {
      SetWaiting(id, true);
      return;
    }
    FusedGroup* group = Open(value, id);
    if (group != nullptr && group->anchor) {
      Epilogue whole = group->epilogue;
      whole.steps.push_back(EpilogueStep{.op = At(id).op});
      if (CanBeRead(whole)) {
        group->epilogue = std::move(whole);
      } else {
        group = nullptr;
      }
    }
    if (group == nullptr) {
      Start(id);
    } else {
      Join(*group, id);
    }
  }

  // Returns the group that operator `id` may join through its input `side` (0 or 1), also through a
  // waiting cast.
  FusedGroup* Candidate(int id, int side) {
    const int input = At(id).inputs[static_cast<std::size_t>(side)];
    const std::vector<int> waiting = Waiting(input);
    FusedGroup* group = waiting.empty() ? Open(input, id) : Open(SourceOf(input), waiting.front());
    if (group == nullptr || At(id).type.shape != At(input).type.shape) return nullptr;
    return !group->anchor || EpilogueWith(*group, id, side) ? group : nullptr;
  }

  // Returns the epilogue of an anchor's group extended by the operators that wait before input
  // `main` of binary operator `id` and by `id` itself. Returns nullopt if one of them cannot be a
  // step or if the epilogue gets too long.
  std::optional<Epilogue> EpilogueWith(const FusedGroup& group, int id, int main) const {
    std::optional<EpilogueStep> step = StepOf(group, id, main);
    if (!step) return std::nullopt;
    Epilogue whole = group.epilogue;
    for (int waiting : Waiting(At(id).inputs[static_cast<std::size_t>(main)])) {
      EpilogueStep& own = whole.steps.emplace_back(EpilogueStep{.op = At(waiting).op});
      if (IsBinaryElementwise(At(waiting))) {
        own.operand = OperandKind::kScalar;
        own.scalar = ScalarOf(waiting);
      }
    }
    whole.steps.push_back(std::move(*step));
    if (!CanBeRead(whole)) return std::nullopt;
    return whole;
  }

  // Returns the epilogue step of a binary operator whose input `main` is the current result of the
  // anchor's group. Returns nullopt if a step cannot have the other operand.
  std::optional<EpilogueStep> StepOf(const FusedGroup& group, int id, int main) const {
    const Node& node = At(id);
    const int other = node.inputs[static_cast<std::size_t>(1 - main)];
    if (other == node.inputs[static_cast<std::size_t>(main)]) return std::nullopt;
    const Node& anchor = At(*group.anchor);
    auto kind = OperandKindOf(At(other).type, node.type, ChannelDimensions(anchor));
    // Products of matrices are computed in the layout of the graph, so any dimension can broadcast.
    const bool broadcasts = IsMatrixProduct(anchor.op.kind) && node.type.shape == anchor.type.shape;
    if (!kind && broadcasts) kind = OperandKind::kBroadcast;
    if (!kind) return std::nullopt;
    EpilogueStep step{.op = node.op, .operand = *kind};
    step.operand_first = main == 1 && !Commutes(node.op.kind);
    const bool constant = At(other).kind == NodeKind::kConstant;
    if (constant && *kind == OperandKind::kBroadcast) return std::nullopt;
    if (constant && *kind == OperandKind::kScalar) {
      if (!graph_.HasContents(other)) return std::nullopt;
      step.scalar = graph_.Contents(other)->At(0);
      // The scalar of a step is a double, which cannot represent every integer.
      const DataType dtype = At(other).type.dtype;
      if (dtype.is_integer() && dtype.bits == 64 && std::abs(step.scalar) >= 0x1p53) {
        return std::nullopt;
      }
      return step;
    }
    step.operand_dtype = At(SourceOf(other)).type.dtype;
    if (Waits(other) && IsBinaryElementwise(At(other))) step.scalar = ScalarOf(other);
    if (constant) return step;
    if (At(other).type.shape == node.type.shape) {
      step.operand = OperandKind::kTensor;
      return step;
    }
    if (!TakesComputed(anchor, node.op.kind) || Waits(other)) return std::nullopt;
    if (*kind != OperandKind::kChannel) {
      step.operand = OperandKind::kBroadcast;
      step.value = KeptDimensions(At(other).type.shape, node.type.shape);
    }
    return step;
  }

  // Returns true if a step after the anchor may have an operand of few elements that is computed at
  // run time: scales and zero points of integer sums. Padded channels are zeros, so a divisor may
  // not.
  bool TakesComputed(const Node& anchor, OpKind kind) const {
    const Domain domain = RowOf(kind).domain;
    return rule_ == FuseRule::kUnrestricted && anchor.type.dtype.is_integer() &&
           domain != Domain::kDivisor && domain != Domain::kShift;
  }

  // Returns the constant that is the second operand of a binary operator.
  double ScalarOf(int id) const { return graph_.Contents(At(id).inputs[1])->At(0); }

  // Returns true if `id` subtracts a zero point from quantized numbers that are then combined with
  // another value. As part of an operand, the zero point is the scalar of that step.
  bool IsOffset(int id) const {
    const Node& node = At(id);
    const int cast = node.inputs[0], zero = node.inputs[1];
    if (rule_ != FuseRule::kUnrestricted || node.op.kind != OpKind::kSub || !Waits(cast))
      return false;
    if (node.type.shape != At(cast).type.shape) return false;  // the zero point has a higher rank
    const DataType from = At(At(cast).inputs[0]).type.dtype, to = node.type.dtype;
    const bool exact = from.is_integer() && from.bits <= 16 && (to == kFloat32 || to == kInt32);
    if (!exact || At(zero).type.elements() != 1 || !graph_.HasContents(zero)) return false;
    const double offset = graph_.Contents(zero)->At(0);
    if (offset != std::round(offset) || std::abs(offset) > 0x1p16) return false;
    const int user = SingleUser(graph_, users_, id);
    if (user < 0 || HasGroup(user) || !IsBinaryElementwise(At(user)) ||
        At(user).type.shape != node.type.shape) {
      return false;
    }
    return std::ranges::all_of(At(user).inputs,
                               [&](int input) { return At(input).kind != NodeKind::kConstant; });
  }

  void AddBinary(int id) {
    if (IsOffset(id)) return SetWaiting(id, true);
    FusedGroup* first = Candidate(id, 0);
    FusedGroup* second = Candidate(id, 1);
    // Anchors are preferred to groups without an anchor, then the later group.
    const auto rank = [](const FusedGroup* group) {
      return group == nullptr ? std::pair(-1, -1)
                              : std::pair(group->anchor.value_or(-1), group->output);
    };
    FusedGroup* group = rank(second) > rank(first) ? second : first;
    if (group != nullptr && group->anchor) {
      return JoinAnchor(*group, id, group == first ? 0 : 1);
    }
    for (int input : At(id).inputs) {
      for (int waiting : Waiting(input)) {
        SetWaiting(waiting, false);
        if (group == nullptr) {
          group = &Start(waiting);
        } else {
          Join(*group, waiting);
        }
      }
    }
    if (group == nullptr) {
      Start(id);
    } else {
      Join(*group, id);
    }
  }

  void TakeAlong(FusedGroup& group, int waiting) {
    SetWaiting(waiting, false);
    Join(group, waiting);
  }

  void JoinAnchor(FusedGroup& group, int id, int main) {
    const int input = At(id).inputs[static_cast<std::size_t>(main)];
    const int other = At(id).inputs[static_cast<std::size_t>(1 - main)];
    group.epilogue = *EpilogueWith(group, id, main);
    if (group.epilogue.steps.back().has_parameter()) group.inputs.push_back(SourceOf(other));
    for (int waiting : Waiting(input)) TakeAlong(group, waiting);
    for (int waiting : Waiting(other)) TakeAlong(group, waiting);
    Join(group, id);
  }

  bool IsOutput(int id) const {
    return std::ranges::find(graph_.outputs(), id) != graph_.outputs().end();
  }
  const std::vector<int>& UsersOf(int id) const { return users_[static_cast<std::size_t>(id)]; }

  // Returns true if only operators of `chain` read the value.
  bool IsInner(int value, const std::vector<int>& chain) const {
    return !IsOutput(value) && std::ranges::all_of(UsersOf(value), [&](int user) {
      return std::ranges::find(chain, user) != chain.end();
    });
  }

  // Returns the step of operator `id` after `values`; the last one is its input and the first one
  // is %first. Returns nullopt if it cannot be a step. All values of a diamond have one type.
  // A divisor must be known at compile time.
  std::optional<EpilogueStep> DiamondStep(const FusedGroup& group, int id,
                                          const std::vector<int>& values, std::size_t first) const {
    const Node& node = At(id);
    if (node.kind != NodeKind::kOperator || !IsElementwise(node.op.kind) || IsCast(node.op.kind) ||
        HasGroup(id) || node.type != At(values.back()).type) {
      return std::nullopt;
    }
    if (node.inputs.size() == 1) return EpilogueStep{.op = node.op};
    const int main = node.inputs[0] == values.back() ? 0 : 1;
    const int other = node.inputs[static_cast<std::size_t>(1 - main)];
    const auto again = std::ranges::find(values, other);
    if (again == values.end()) {
      // A cast that waits for its only user is left to that user.
      if (At(other).kind == NodeKind::kOperator && IsCast(At(other).op.kind)) return std::nullopt;
      if (Waits(other)) return std::nullopt;
      return StepOf(group, id, main);
    }
    if (!Commutes(node.op.kind) && node.op.kind != OpKind::kSub) return std::nullopt;
    // x - x is 0 for every x: the anchor's loops would have no reader.
    if (node.op.kind == OpKind::kSub && other == values.back()) return std::nullopt;
    const auto number = first + static_cast<std::size_t>(again - values.begin());
    return EpilogueStep{.op = node.op,
                        .operand = OperandKind::kStep,
                        .operand_first = main == 1 && !Commutes(node.op.kind),
                        .value = static_cast<int>(number)};
  }

  // Returns the operators after an anchor's result with several readers, each on the result of the
  // one before it, up to the first one whose result is the only value read outside (x *
  // sigmoid(x)). Includes their steps. Empty if the readers do not form such a diamond.
  std::vector<std::pair<int, EpilogueStep>> DiamondBehind(const FusedGroup& group) const {
    std::vector<int> values{group.output}, chain;
    std::vector<std::pair<int, EpilogueStep>> steps;
    while (chain.size() < kMaxOfDiamond && group.nodes.size() + chain.size() < kMaxOperators) {
      std::optional<EpilogueStep> step;
      for (int user : UsersOf(values.back())) {
        step = DiamondStep(group, user, values, group.epilogue.steps.size());
        if (!step) continue;
        steps.emplace_back(user, *step);
        break;
      }
      if (!step) return {};
      chain.push_back(steps.back().first);
      if (std::ranges::all_of(values, [&](int value) { return IsInner(value, chain); })) {
        return steps;
      }
      values.push_back(chain.back());
    }
    return {};
  }

  // Returns true if the diamond saves more time than it costs to compile. A function of many
  // instructions is repeated in every part of the kernel. Joining it saves a pass over the result,
  // which is cheap if the result is still in a private cache.
  bool Pays(const FusedGroup& group, const std::vector<std::pair<int, EpilogueStep>>& steps) const {
    constexpr std::int64_t kNearBytes = std::int64_t{1} << 20;
    const auto is_long = [&](const auto& step) { return RowOf(At(step.first).op.kind).ulps > 0; };
    return At(group.output).type.bytes() > kNearBytes || std::ranges::none_of(steps, is_long);
  }

  // Joins the diamond that `id` begins to the group before it. Returns false if there is no
  // diamond.
  bool JoinDiamond(int id) {
    if (rule_ != FuseRule::kUnrestricted || !IsElementwise(At(id).op.kind)) return false;
    for (int input : At(id).inputs) {
      FusedGroup* group = GroupOf(input);
      if (group == nullptr || !group->anchor || group->output != input) continue;
      if (SingleUser(graph_, users_, input) >= 0) continue;
      const auto steps = DiamondBehind(*group);
      Epilogue whole = group->epilogue;
      for (const auto& [node, step] : steps) whole.steps.push_back(step);
      if (steps.empty() || !CanBeRead(whole) || !Pays(*group, steps)) continue;
      for (const auto& [node, step] : steps) {
        if (step.has_parameter()) group->inputs.push_back(OtherInput(node, group->output));
        Join(*group, node);
      }
      group->epilogue = std::move(whole);
      return true;
    }
    return false;
  }

  std::size_t RowWiseDimensions(const Node& node) const {
    return tilewright::RowWiseDimensions(node.op, At(node.inputs[0]).type.shape.size());
  }
  bool IsOfRows(const Node& node) const { return RowWiseDimensions(node) > 0; }

  // Trailing dimensions that form the rows of values of one shape.
  struct Rows {
    Shape shape;
    std::size_t dimensions = 1;
  };

  // Returns true if an operator processes these rows and returns such rows or one number per row.
  // False for a cast that waits for its only user.
  bool HasRows(int id, const Rows& rows) const {
    const Node& node = At(id);
    if (node.kind != NodeKind::kOperator || HasGroup(id) || Waits(id)) return false;
    if (!IsElementwise(node.op.kind) && !IsComparisonOrSelect(node.op.kind) &&
        RowWiseDimensions(node) != rows.dimensions) {
      return false;
    }
    const Shape& own = node.type.shape;
    if (own.size() != rows.shape.size()) return false;
    const auto behind = own.end() - static_cast<std::ptrdiff_t>(rows.dimensions);
    if (!std::equal(own.begin(), behind, rows.shape.begin())) return false;
    const bool whole = std::equal(behind, own.end(), rows.shape.end() - (own.end() - behind));
    if (!whole && std::any_of(behind, own.end(), [](auto size) { return size != 1; })) return false;
    return std::ranges::none_of(node.inputs, [&](int input) { return Waits(input); });
  }

  bool JoinsAnchor(int id) {
    const Node& node = At(id);
    const auto is_anchor = [](const FusedGroup* group) {
      return group != nullptr && group->anchor;
    };
    if (!IsElementwise(node.op.kind)) return false;
    if (node.inputs.size() == 1) return is_anchor(Open(node.inputs[0], id));
    return is_anchor(Candidate(id, 0)) || is_anchor(Candidate(id, 1));
  }

  // Returns operators from `id` on that process the same rows, some of which reduce them, up to the
  // last operator whose result is the only one that others read (its post-dominator). Inputs from
  // outside are computed before `id`. Empty if there are none.
  std::vector<int> RowsFrom(int id, std::size_t dimensions) const {
    constexpr std::size_t kMaxOfRows = 32;
    const Node& first = At(id);
    const Shape& shape = IsOfRows(first) ? At(first.inputs[0]).type.shape : first.type.shape;
    const Rows all{shape, dimensions};
    if (shape.size() <= dimensions || shape.back() < 2 || !HasRows(id, all)) return {};
    std::vector<int> rows{id};
    std::size_t best = 0;
    bool reduces = IsOfRows(first);
    int last_user = UsersOf(id).empty() ? id : UsersOf(id).back();
    for (int next = id + 1; next <= last_user && rows.size() < kMaxOfRows; ++next) {
      const Node& node = At(next);
      const auto inside = [&](int input) { return std::ranges::find(rows, input) != rows.end(); };
      if (std::ranges::none_of(node.inputs, inside) || !HasRows(next, all)) continue;
      if (!std::ranges::all_of(node.inputs, [&](int input) {
            return inside(input) || input < id || At(input).kind != NodeKind::kOperator;
          })) {
        continue;
      }
      rows.push_back(next);
      reduces = reduces || IsOfRows(node);
      if (!UsersOf(next).empty()) last_user = std::max(last_user, UsersOf(next).back());
      const bool whole = std::all_of(rows.begin(), rows.end() - 1,
                                     [&](int value) { return IsInner(value, rows); });
      if (reduces && whole && node.type.shape == shape) best = rows.size();
    }
    rows.resize(best);
    return rows;
  }

  // Starts a group of all consecutive row-wise operators from `id` on. Returns false if there are
  // none, or if `id` belongs to an anchor.
  bool StartRows(int id) {
    if (rule_ != FuseRule::kUnrestricted) return false;
    const OpKind kind = At(id).op.kind;
    const bool begins = IsElementwise(kind) || kind == OpKind::kWhere || IsOfRows(At(id));
    if (IsCast(kind) || !begins || JoinsAnchor(id)) return false;
    std::vector<int> rows;
    for (std::size_t dimensions : dimensions_of_rows_) {
      rows = RowsFrom(id, dimensions);
      if (!rows.empty()) break;
    }
    if (rows.empty()) return false;
    FusedGroup& group = Start(rows.front());
    for (std::size_t i = 1; i < rows.size(); ++i) Join(group, rows[i]);
    return true;
  }

  // Returns the input of a binary operator that is not `value`.
  int OtherInput(int id, int value) const {
    const std::vector<int>& inputs = At(id).inputs;
    return inputs[0] == value ? inputs[1] : inputs[0];
  }

  void Finish(FusedGroup& group) const {
    std::ranges::sort(group.nodes);
    if (!group.anchor) group.inputs = InputsOf(graph_, group.nodes);
  }

  const Graph& graph_;
  const FuseRule rule_;
  std::vector<std::vector<int>> users_;
  std::vector<int> group_of_;  // node -> position in groups_; -1 before it has a group
  std::vector<bool>
      waiting_;  // casts (and zero-point subtractions) that join the group of their user
  std::vector<FusedGroup> groups_;
  std::set<std::size_t> dimensions_of_rows_;  // of some row-wise operator
};

}  // namespace

Result<std::vector<FusedGroup>> FuseGroups(const Graph& graph, FuseRule rule) {
  return Fuser(graph, rule).Run();
}

std::vector<int> InputsOf(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<int> inputs;
  for (int id : nodes) {
    for (int input : graph.node(id).inputs) {
      const bool inside = std::ranges::binary_search(nodes, input);
      const bool known = std::ranges::find(inputs, input) != inputs.end();
      if (!inside && !known) inputs.push_back(input);
    }
  }
  return inputs;
}

std::string DescribeGroup(const Graph& graph, const FusedGroup& group, const std::string& main) {
  std::string text = main;
  const char* separator = " + ";
  bool named = false;
  for (int id : group.nodes) {
    const OpKind kind = graph.node(id).op.kind;
    if (IsHalfWideningCast(graph, id)) continue;
    const bool first = group.anchor ? id == *group.anchor : !std::exchange(named, true);
    if (first || kind == OpKind::kIdentity) continue;
    text += separator + std::string(OpName(kind));
    separator = ", ";
  }
  return text;
}

}  // namespace tilewright
