// Local rules, applied once in topological order. A rule matches the operator to be added and the
// nodes of the new graph that it reads, which are simplified already. It returns an existing value
// or a replacement operator. Reshapes after matrix products and convolutions of sequences sink
// below the elementwise or row-wise operators that follow.

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>

#include "src/graph/ir/operand.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/operator_hash.h"
#include "src/tensor/operator_list.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/windows.h"

namespace tilewright {
namespace {

// Result of a rule: another operator, or (no operator) the unchanged value inputs[0].
struct Replacement {
  std::optional<Operator> op;
  std::vector<int> inputs;
};

Replacement Existing(int id) { return {std::nullopt, {id}}; }

// Returns the value of a constant of one element.
std::optional<double> ScalarOf(const Graph& graph, int id) {
  if (graph.node(id).type.elements() != 1 || !graph.HasContents(id)) return std::nullopt;
  return graph.Contents(id)->At(0);
}

bool Near(std::optional<double> value, double expected) {
  return value && std::abs(*value - expected) <= 1e-6 * std::abs(expected);
}

// Returns true for operators without effect for these types and attributes.
bool IsNothing(const Graph& graph, const Operator& op, const std::vector<int>& inputs) {
  const TensorType& type = graph.node(inputs[0]).type;
  const OpAttributes& a = op.attributes;
  switch (op.kind) {
    case OpKind::kIdentity:
      return true;
    case OpKind::kCast:
    case OpKind::kSaturateCast:
      return a.dtype == type.dtype;
    case OpKind::kReshape:
    case OpKind::kBroadcastTo:
      return a.new_shape == type.shape;
    case OpKind::kTranspose:
      return std::ranges::is_sorted(a.axes);
    case OpKind::kConcat:
      return inputs.size() == 1;
    case OpKind::kPad:
      return std::ranges::all_of(a.pad_width, [](auto width) { return width == 0; });
    case OpKind::kSlice:
      return a.end == type.shape &&
             std::ranges::all_of(a.begin, [](auto begin) { return begin == 0; }) &&
             std::ranges::all_of(a.steps, [](auto step) { return step == 1; });
    case OpKind::kLayoutTransform:
      return a.src_layout == a.dst_layout;
    default:
      return false;
  }
}

// Merges two consecutive data movement operators into one or none.
std::optional<Replacement> FuseDataMovement(const Graph& graph, const Operator& op,
                                            const std::vector<int>& inputs) {
  const Node& before = graph.node(inputs[0]);
  if (before.kind != NodeKind::kOperator || before.op.kind != op.kind) return std::nullopt;
  const int source = before.inputs[0];
  if (op.kind == OpKind::kReshape) {
    if (graph.node(source).type.shape == op.attributes.new_shape) return Existing(source);
    return Replacement{op, {source}};
  }
  if (op.kind == OpKind::kTranspose) {
    Operator joined = op;
    for (std::int64_t& axis : joined.attributes.axes) {
      axis = before.op.attributes.axes[static_cast<std::size_t>(axis)];
    }
    if (std::ranges::is_sorted(joined.attributes.axes)) return Existing(source);
    return Replacement{joined, {source}};
  }
  return std::nullopt;
}

// Returns true if the bounds of the clip are within the range of an integer type.
bool HoldsClip(DataType dtype, const OpAttributes& clip) {
  if (!dtype.is_integer()) return false;
  const bool is_signed = dtype.code == TypeCode::kInt;
  const double high = std::exp2(dtype.bits - (is_signed ? 1 : 0)) - 1;
  const double low = is_signed ? -high - 1 : 0;
  return clip.a_min >= low && clip.a_max <= high;
}

// Drops clip(x) of values that were clipped before, if only casts and maxima that keep the bounds
// are between.
std::optional<Replacement> DropSecondClip(const Graph& graph, const Operator& op,
                                          const std::vector<int>& inputs) {
  if (op.kind != OpKind::kClip) return std::nullopt;
  std::vector<DataType> passed;
  for (int id = inputs[0]; graph.node(id).kind == NodeKind::kOperator;) {
    const Node& node = graph.node(id);
    const OpAttributes& a = node.op.attributes;
    if (node.op.kind == OpKind::kClip) {
      const bool kept =
          std::ranges::all_of(passed, [&](DataType dtype) { return HoldsClip(dtype, a); });
      const bool inside = a.a_min >= op.attributes.a_min && a.a_max <= op.attributes.a_max;
      return kept && inside ? std::optional(Existing(inputs[0])) : std::nullopt;
    }
    // The padding is the lowest value; a window with at least one real element never returns it.
    if (node.op.kind == OpKind::kMaxPool2d) {
      const auto window = PoolWindowOf(node.op, graph.node(node.inputs[0]).type);
      if (!window.ok() || !EveryWindowHasAnElement(*window)) break;
    } else if (node.op.kind != OpKind::kCast) {
      break;
    }
    passed.push_back(node.type.dtype);
    id = node.inputs[0];
  }
  return std::nullopt;
}

// Recognizes x * hard_sigmoid(x), and x * clip(x + 3, 0, 6) / 6 in its usual variants.
std::optional<Replacement> JoinHardSwish(const Graph& graph, const Operator& op,
                                         const std::vector<int>& inputs) {
  const Operator hard_swish{OpKind::kHardSwish, {}};
  if (!graph.node(inputs[0]).type.dtype.is_float()) return std::nullopt;
  const auto is_relu6_of = [&](int id, int x) {  // clip(x + 3, 0, 6)
    const Node* clip = OperatorOf(graph, id, OpKind::kClip);
    if (clip == nullptr || clip->op.attributes.a_min != 0 || clip->op.attributes.a_max != 6) {
      return false;
    }
    const Node* add = OperatorOf(graph, clip->inputs[0], OpKind::kAdd);
    if (add == nullptr) return false;
    return (add->inputs[0] == x && Near(ScalarOf(graph, add->inputs[1]), 3)) ||
           (add->inputs[1] == x && Near(ScalarOf(graph, add->inputs[0]), 3));
  };
  if (op.kind == OpKind::kMul) {
    for (const auto& [x, gate] :
         {std::pair(inputs[0], inputs[1]), std::pair(inputs[1], inputs[0])}) {
      if (const Node* sigmoid = OperatorOf(graph, gate, OpKind::kHardSigmoid)) {
        const OpAttributes& a = sigmoid->op.attributes;
        if (sigmoid->inputs[0] == x && Near(a.alpha, 1.0 / 6) && Near(a.beta, 0.5)) {
          return Replacement{hard_swish, {x}};
        }
      }
      if (const Node* div = OperatorOf(graph, gate, OpKind::kDiv)) {
        if (Near(ScalarOf(graph, div->inputs[1]), 6) && is_relu6_of(div->inputs[0], x)) {
          return Replacement{hard_swish, {x}};
        }
      }
    }
  }
  if (op.kind == OpKind::kDiv && Near(ScalarOf(graph, inputs[1]), 6)) {
    if (const Node* mul = OperatorOf(graph, inputs[0], OpKind::kMul)) {
      const int a = mul->inputs[0], b = mul->inputs[1];
      if (is_relu6_of(b, a)) return Replacement{hard_swish, {a}};
      if (is_relu6_of(a, b)) return Replacement{hard_swish, {b}};
    }
  }
  return std::nullopt;
}

// Rewrites x^2 as a product, which all patterns recognize.
std::optional<Replacement> MultiplySquare(const Graph& graph, const Operator& op,
                                          const std::vector<int>& inputs) {
  if (op.kind != OpKind::kPow || !graph.node(inputs[0]).type.dtype.is_float()) return std::nullopt;
  if (ScalarOf(graph, inputs[1]) != 2) return std::nullopt;
  return Replacement{Operator{OpKind::kMul, {}}, {inputs[0], inputs[0]}};
}

// Returns the literal to which an elementwise operator folds for any operands (x * 0 and x - x of
// integers, x & 0), as in a kernel. Null if the result depends on the operands.
Expr ElementOfAny(const Graph& graph, const Operator& op, const std::vector<int>& inputs) {
  if (!IsElementwise(op.kind) || inputs.empty() || inputs.size() > 2) return {};
  std::vector<Expr> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DataType dtype = graph.node(inputs[i]).type.dtype;
    if (i == 1 && inputs[1] == inputs[0]) {
      operands.push_back(operands[0]);
    } else if (ScalarOf(graph, inputs[i])) {
      operands.push_back(LiteralOf(dtype, tilewright::ScalarOf(*graph.Contents(inputs[i]))));
    } else {
      operands.push_back(MakeVar("x", dtype));
    }
  }
  Expr value = ElementwiseExpr(op, operands[0], operands.size() == 2 ? operands[1] : Expr());
  const bool literal = value->kind == ExprKind::kInt || value->kind == ExprKind::kFloat;
  return literal ? value : Expr();
}

using Shape = std::vector<std::int64_t>;

// Returns true for elementwise and row-wise operators.
bool FollowsProduct(const Graph& graph, const Operator& op, const std::vector<int>& inputs) {
  return IsElementwise(op.kind) ||
         (!inputs.empty() && IsRowWise(op, graph.node(inputs[0]).type.shape.size()));
}

// Returns true for a convolution of images of one row.
bool IsSequence(const Node& anchor) {
  return anchor.op.kind == OpKind::kConv2d && anchor.type.shape.size() == 4 &&
         anchor.type.shape[2] == 1;
}

// Returns the operator for values of another rank.
Operator OnRows(Operator op, std::size_t rank) {
  if (IsElementwise(op.kind)) return op;
  const auto last = static_cast<std::int64_t>(rank) - 1;
  if (!op.attributes.axes.empty()) op.attributes.axes = {last};
  op.attributes.axis = last;
  return op;
}

// Returns the shape that an operand of an elementwise operator needs when the other value has shape
// `from` instead of its reshape `to`, which has rows of the same length. Returns nullopt if no
// broadcast is equivalent.
std::optional<Shape> ShapeBefore(const Shape& operand, const Shape& from, const Shape& to) {
  const bool rows = operand.size() == to.size() && !to.empty() &&
                    std::equal(to.begin(), to.end() - 1, operand.begin());
  if (rows && (operand.back() == to.back() || operand.back() == 1)) {  // one element for each row
    Shape shape = from;
    shape.back() = operand.back();
    return shape;
  }
  if (std::ranges::all_of(operand, [](auto size) { return size == 1; })) {
    return operand.size() <= from.size() ? operand : Shape{1};
  }
  std::size_t same = 0;  // equal trailing dimensions
  while (same < std::min(from.size(), to.size()) &&
         from[from.size() - 1 - same] == to[to.size() - 1 - same]) {
    ++same;
  }
  const std::size_t kept = std::min(same, operand.size());
  const auto cut = operand.end() - static_cast<std::ptrdiff_t>(kept);
  if (!std::all_of(operand.begin(), cut, [](auto size) { return size == 1; })) return std::nullopt;
  return Shape(cut, operand.end());
}

using Rule = std::optional<Replacement> (*)(const Graph&, const Operator&, const std::vector<int>&);
constexpr Rule kRules[] = {&FuseDataMovement, &DropSecondClip, &JoinHardSwish, &MultiplySquare};

// Maximum number of elements of a constant that a rule creates.
constexpr std::int64_t kMaxFilledElements = std::int64_t{1} << 28;

class Simplifier {
 public:
  explicit Simplifier(Graph graph) : rewriter_(std::move(graph)) {}

  /// Runs the rules. constants: gets the number of operators that became constants.
  Result<Graph> Run(int* constants) {
    for (int id = 0; id < rewriter_.source().size(); ++id) {
      const Node& node = rewriter_.source().node(id);
      if (node.kind != NodeKind::kOperator) {
        TW_RETURN_IF_ERROR(rewriter_.Copy(id));
        continue;
      }
      std::vector<int> inputs;
      for (int input : node.inputs) inputs.push_back(rewriter_.At(input));
      site_ = node.site;
      TW_ASSIGN_OR_RETURN(auto value, Add(node.name, node.op, std::move(inputs)));
      rewriter_.Map(id, value);
    }
    TW_RETURN_IF_ERROR(NameOutputs());
    *constants = constants_;
    return rewriter_.Finish();
  }

 private:
  Result<int> Add(const std::string& name, Operator op, std::vector<int> inputs) {
    TW_ASSIGN_OR_RETURN(auto moved, AddBeforeReshape(name, op, inputs));
    if (moved) return *moved;
    Graph& graph = rewriter_.result();
    if (auto constant = AddWhatAnyOperandGives(name, op, inputs)) return *constant;
    for (bool changed = true; changed;) {
      if (IsNothing(graph, op, inputs)) return inputs[0];
      changed = false;
      for (Rule rule : kRules) {
        auto replacement = rule(graph, op, inputs);
        if (!replacement || !KeepsType(*replacement, op, inputs)) continue;
        if (!replacement->op) return replacement->inputs[0];
        op = *std::move(replacement->op);
        inputs = std::move(replacement->inputs);
        changed = true;
        break;
      }
    }
    // Deduplicates equal operators, except anchors, because tasks count them.
    if (IsAnchor(op.kind)) {
      const bool matrix = IsMatrixProduct(op.kind);
      auto anchor = graph.AddOperator(name, std::move(op), std::move(inputs));
      if (anchor.ok()) graph.SetSite(*anchor, site_);
      if (anchor.ok() && (matrix || IsSequence(graph.node(*anchor)))) products_.insert(*anchor);
      return anchor;
    }
    const bool follows =
        FollowsProduct(graph, op, inputs) &&
        std::ranges::any_of(inputs, [&](int input) { return products_.contains(input); });
    const std::uint64_t hash = HashOf(op, inputs);
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto other = first; other != last; ++other) {
      const Node& node = graph.node(other->second);
      if (node.op == op && node.inputs == inputs) return other->second;
    }
    auto id = graph.AddOperator(name, std::move(op), std::move(inputs));
    if (id.ok()) by_hash_.emplace(hash, *id);
    if (id.ok() && follows) products_.insert(*id);
    return id;
  }

  /// Adds a constant for an operator whose result does not depend on its operands. Returns nullopt
  /// if it does.
  std::optional<int> AddWhatAnyOperandGives(const std::string& name, const Operator& op,
                                            const std::vector<int>& inputs) {
    Graph& graph = rewriter_.result();
    const auto type = TypeOf(op, inputs);
    if (!type.ok() || type->elements() > kMaxFilledElements) return std::nullopt;
    const Expr element = ElementOfAny(graph, op, inputs);
    if (!element || element.dtype() != type->dtype) return std::nullopt;
    ++constants_;
    if (element->kind == ExprKind::kFloat) {
      return graph.AddFilledConstant(name, *type, element->float_value);
    }
    const auto number = static_cast<double>(element->int_value);
    constexpr double kExact = 0x1p53;
    if (std::abs(number) <= kExact) return graph.AddFilledConstant(name, *type, number);
    Tensor contents(*type);
    for (std::int64_t& each : contents.As<std::int64_t>()) each = element->int_value;
    return graph.AddConstant(name, std::move(contents));
  }

  /// Returns the input that is a reshaped matrix product, or a reshaped follower of one, and that
  /// has the dimensions of this result (its last one may have size 1). Null if there is none.
  const Node* ReshapedProduct(const Operator& op, const std::vector<int>& inputs,
                              const Shape& result) const {
    for (int input : inputs) {
      const Node* reshape = OperatorOf(rewriter_.result(), input, OpKind::kReshape);
      if (reshape == nullptr || !products_.contains(reshape->inputs[0])) continue;
      if (!IsElementwise(op.kind) || reshape->type.shape == result) return reshape;
    }
    return nullptr;
  }

  /// Applies an elementwise or row-wise operator (on the last dimension) to the matrix product
  /// before its reshape (a product of three dimensions is a reshaped one). There it can join the
  /// product's kernel; the reshape is applied to its result. Returns nullopt for other operators.
  Result<std::optional<int>> AddBeforeReshape(const std::string& name, const Operator& op,
                                              const std::vector<int>& inputs) {
    const Graph& graph = rewriter_.result();
    if (!FollowsProduct(graph, op, inputs)) return std::optional<int>();
    const auto type = TypeOf(op, inputs);
    const Node* reshape = type.ok() ? ReshapedProduct(op, inputs, type->shape) : nullptr;
    if (reshape == nullptr) return std::optional<int>();
    const Shape to = reshape->type.shape, from = graph.node(reshape->inputs[0]).type.shape;
    if (from.empty() || to.empty() || from.back() != to.back()) return std::optional<int>();
    std::vector<Shape> shapes;
    for (int input : inputs) {
      const Shape& own = graph.node(input).type.shape;
      auto shape = ShapeBefore(own, from, to);
      // An unreshaped product would get the shape of the other product, and back again.
      if (!shape || (products_.contains(input) && *shape != own)) return std::optional<int>();
      shapes.push_back(*std::move(shape));
    }
    std::vector<int> moved;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      TW_ASSIGN_OR_RETURN(auto value,
                          AddReshape(FlatName(graph.node(inputs[i]).name), shapes[i], inputs[i]));
      moved.push_back(value);
    }
    TW_ASSIGN_OR_RETURN(auto result,
                        Add(FlatName(name), OnRows(op, from.size()), std::move(moved)));
    TW_ASSIGN_OR_RETURN(auto reshaped, AddReshape(name, type->shape, result));
    return std::optional(reshaped);
  }

  /// Returns a unique name for a value that the source does not have.
  std::string FlatName(const std::string& name) {
    return NameOfPart(name, "flat" + std::to_string(++flat_names_));
  }

  Result<int> AddReshape(const std::string& name, const Shape& shape, int value) {
    Operator op{OpKind::kReshape, {}};
    op.attributes.new_shape = shape;
    return Add(name, std::move(op), {value});
  }

  /// Returns true if the replacement keeps the type. Scalars of a pattern may broadcast, and the
  /// replacement must not lose their dimensions.
  bool KeepsType(const Replacement& replacement, const Operator& op,
                 const std::vector<int>& inputs) {
    const auto before = TypeOf(op, inputs);
    const auto after = replacement.op ? TypeOf(*replacement.op, replacement.inputs)
                                      : rewriter_.result().node(replacement.inputs[0]).type;
    return before.ok() && after.ok() && *before == *after;
  }
  Result<TensorType> TypeOf(const Operator& op, const std::vector<int>& inputs) {
    std::vector<TensorType> types;
    for (int input : inputs) types.push_back(rewriter_.result().node(input).type);
    return InferType(op, types);
  }

  // Restores the names of outputs whose operators were removed.
  Status NameOutputs() {
    std::set<int> named;
    for (int old_id : rewriter_.source().outputs()) {
      const std::string& name = rewriter_.source().node(old_id).name;
      const int id = rewriter_.At(old_id);
      const Node& node = rewriter_.result().node(id);
      if (node.name == name) {
        named.insert(id);
      } else if (node.kind == NodeKind::kOperator && named.insert(id).second) {
        rewriter_.result().Rename(id, name);
      } else {
        TW_ASSIGN_OR_RETURN(
            auto copy, rewriter_.result().AddOperator(name, Operator{OpKind::kIdentity, {}}, {id}));
        rewriter_.Map(old_id, copy);
      }
    }
    return Status();
  }

  Rewriter rewriter_;
  std::unordered_multimap<std::uint64_t, int> by_hash_;  // no two equal operators
  int flat_names_ = 0;
  int site_ = -1;  // of the operator that is being added
  int constants_ = 0;
  // Matrix products and convolutions of sequences, and their elementwise or row-wise followers.
  std::set<int> products_;
};

}  // namespace

Result<Graph> Simplify(Graph graph) {
  int constants = 0;
  return Simplifier(std::move(graph)).Run(&constants);
}

Result<Graph> Optimize(Graph graph, FoldExtent extent) {
  // Constants that simplification creates may allow more folding, which may allow more
  // simplification.
  constexpr int kMaxRounds = 8;
  Result<Graph> simple = std::move(graph);
  int constants = 1;
  for (int round = 0; constants > 0 && round < kMaxRounds; ++round) {
    TW_ASSIGN_OR_RETURN(auto folded, FoldConstants(*std::move(simple), extent));
    simple = Simplifier(std::move(folded)).Run(&constants);
    TW_RETURN_IF_ERROR(simple);
  }
  TW_ASSIGN_OR_RETURN(auto normalized, FoldBatchNorm(*std::move(simple)));
  return FoldConstants(std::move(normalized), extent);
}

}  // namespace tilewright
