// Construction of expressions node by node: each node is checked when it is added, with its
// position in the text for errors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/math.h"
#include "src/ir/fold.h"
#include "src/tensor/expression/internal.h"

namespace tilewright {
namespace {

constexpr int kMaxTreeDepth = 200;  // of nested values: walks over them recurse

bool IsComparisonKind(ExprKind kind) {
  return kind == ExprKind::kEq || kind == ExprKind::kNe || kind == ExprKind::kLt ||
         kind == ExprKind::kLe;
}

Status BadTypes(std::string_view what, DataType a, std::string_view expected) {
  return InvalidArgument(fmt::format("{} of {}, expected {}", what, DataTypeName(a), expected));
}

}  // namespace

int ExpressionBuilder::Add(ExpressionNode node) {
  stage_.nodes.push_back(std::move(node));
  return static_cast<int>(stage_.nodes.size()) - 1;
}

int ExpressionBuilder::Int(std::int64_t value, DataType dtype) {
  ExpressionNode node;
  node.dtype = dtype;
  node.integer = WrapToType(dtype, value);
  return Add(std::move(node));
}

int ExpressionBuilder::Float(double value, DataType dtype) {
  ExpressionNode node;
  node.kind = ExprKind::kFloat;
  node.dtype = dtype;
  node.number = dtype.bits == 32 ? static_cast<double>(static_cast<float>(value)) : value;
  return Add(std::move(node));
}

int ExpressionBuilder::AxisVar(std::int64_t axis) {
  ExpressionNode node;
  node.kind = ExprKind::kVar;
  node.integer = axis;
  return Add(std::move(node));
}

bool ExpressionBuilder::IsLiteral(int i) const {
  const ExpressionNode& n = node(i);
  return (n.kind == ExprKind::kInt && n.dtype == kInt64) ||
         (n.kind == ExprKind::kFloat && n.dtype == kFloat32);
}

int ExpressionBuilder::Retyped(int i, DataType dtype) {
  const ExpressionNode literal = node(i);
  const double number =
      literal.kind == ExprKind::kFloat ? literal.number : static_cast<double>(literal.integer);
  return dtype.is_float() ? Float(number, dtype) : Int(literal.integer, dtype);
}

Status ExpressionBuilder::Unify(int& a, int& b) {
  const DataType left = node(a).dtype, right = node(b).dtype;
  if (left == right) return {};
  const auto adapts = [&](int literal, DataType to) {
    return IsLiteral(literal) && !to.is_bool() &&
           (node(literal).kind == ExprKind::kInt || to.is_float());
  };
  if (adapts(b, left)) {
    b = Retyped(b, left);
    return {};
  }
  if (adapts(a, right)) {
    a = Retyped(a, right);
    return {};
  }
  if (left.is_integer() && right.is_integer() && (left == kInt64 || right == kInt64)) {
    int& narrow = left == kInt64 ? b : a;
    TW_ASSIGN_OR_RETURN(narrow, Cast(kInt64, narrow));
    return {};
  }
  return InvalidArgument(fmt::format("{} and {}, expected operands of one type", DataTypeName(left),
                                     DataTypeName(right)));
}

Result<int> ExpressionBuilder::Binary(ExprKind kind, int a, int b) {
  const bool logic = kind == ExprKind::kAnd || kind == ExprKind::kOr;
  const bool shifts = kind == ExprKind::kShiftLeft || kind == ExprKind::kShiftRight;
  if (!shifts) TW_RETURN_IF_ERROR(Unify(a, b));
  const DataType dtype = node(a).dtype;
  if (logic != dtype.is_bool() && !(dtype.is_bool() && kind == ExprKind::kEq)) {
    return BadTypes(logic ? "'and' or 'or'" : "arithmetic", dtype,
                    logic ? "conditions" : "numbers: int32(…) makes one of a condition");
  }
  if (dtype.is_half()) return BadTypes("arithmetic", dtype, "float32(…) of it");
  if (kind == ExprKind::kDiv && dtype.is_integer()) kind = ExprKind::kFloorDiv;
  const bool integral = kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod || shifts;
  if (integral && !dtype.is_integer()) return BadTypes("remainder or shift", dtype, "integers");
  if (integral) {
    if (shifts) b = IsLiteral(b) ? Retyped(b, dtype) : b;
    const ExpressionNode& divisor = node(b);
    const std::int64_t least = shifts ? 0 : 1;
    const std::int64_t most = shifts ? dtype.bits - 1 : std::int64_t{1} << 31;
    if (divisor.kind != ExprKind::kInt || divisor.integer < least || divisor.integer > most) {
      return InvalidArgument(fmt::format("{} an integer by what is not a number from {} to {}",
                                         shifts ? "shifting" : "dividing", least, most));
    }
  }
  if (node(a).kind == ExprKind::kInt && node(b).kind == ExprKind::kInt && !logic) {
    const auto folded = FoldInt(kind, dtype, node(a).integer, node(b).integer);
    if (folded) return Int(*folded, IsComparisonKind(kind) ? kBool : dtype);
  }
  ExpressionNode made;
  made.kind = kind;
  made.dtype = logic || IsComparisonKind(kind) ? kBool : dtype;
  made.args = {a, b};
  return Add(std::move(made));
}

Result<int> ExpressionBuilder::Not(int a) {
  if (!node(a).dtype.is_bool()) return BadTypes("'not'", node(a).dtype, "a condition");
  ExpressionNode made;
  made.kind = ExprKind::kNot;
  made.dtype = kBool;
  made.args = {a};
  return Add(std::move(made));
}

Result<int> ExpressionBuilder::Negate(int a) {
  const ExpressionNode& n = node(a);
  if (n.kind == ExprKind::kInt && n.dtype.is_integer()) {
    return Int(static_cast<std::int64_t>(-static_cast<std::uint64_t>(n.integer)), n.dtype);
  }
  if (n.kind == ExprKind::kFloat) return Float(-n.number, n.dtype);
  if (n.dtype.is_float()) return Binary(ExprKind::kMul, a, Float(-1, n.dtype));
  return Binary(ExprKind::kSub, Int(0, n.dtype), a);
}

Result<int> ExpressionBuilder::Select(int condition, int if_true, int if_false) {
  if (!node(condition).dtype.is_bool()) {
    return BadTypes("condition of select", node(condition).dtype, "a comparison");
  }
  TW_RETURN_IF_ERROR(Unify(if_true, if_false));
  ExpressionNode made;
  made.kind = ExprKind::kSelect;
  made.dtype = node(if_true).dtype;
  made.args = {condition, if_true, if_false};
  return Add(std::move(made));
}

Result<int> ExpressionBuilder::Cast(DataType dtype, int a) {
  const ExpressionNode& n = node(a);
  if (n.dtype == dtype) return a;
  if (dtype.is_bool()) return BadTypes("bool", n.dtype, "a comparison, as in x != 0");
  if ((n.kind == ExprKind::kInt && !n.dtype.is_bool()) ||
      (n.kind == ExprKind::kFloat && dtype.is_float())) {
    return Retyped(a, dtype);
  }
  ExpressionNode made;
  made.kind = ExprKind::kCast;
  made.dtype = dtype;
  made.args = {a};
  return Add(std::move(made));
}

Result<int> ExpressionBuilder::Call(std::string_view function, std::vector<int> args) {
  if (args.size() == 2) TW_RETURN_IF_ERROR(Unify(args[0], args[1]));
  if (IsLiteral(args[0]) && node(args[0]).kind == ExprKind::kInt) {
    for (int& arg : args) arg = Retyped(arg, kFloat32);
  }
  const DataType dtype = node(args[0]).dtype;
  if (!dtype.is_float() || dtype.is_half()) return BadTypes(function, dtype, "float32 or float64");
  ExpressionNode made;
  made.kind = ExprKind::kCall;
  made.dtype = dtype;
  made.function = std::string(function);
  made.args = std::move(args);
  return Add(std::move(made));
}

std::size_t ExpressionBuilder::NodesUnder(int i) const {
  std::size_t count = 1;
  for (int arg : node(i).args) {
    if (count <= kMaxIndexNodes) count += NodesUnder(arg);
  }
  return count;
}

Result<int> ExpressionBuilder::Load(std::int64_t tensor, std::vector<int> indices) {
  const TensorType type = expression_.TypeOf(tensor);
  if (indices.size() != type.shape.size()) {
    return InvalidArgument(fmt::format("{} indices of {}, which is {}, expected {}", indices.size(),
                                       expression_.NameOf(tensor), type.ToString(),
                                       type.shape.size()));
  }
  for (int& index : indices) {
    if (!node(index).dtype.is_integer()) {
      return BadTypes("index", node(index).dtype, "an integer");
    }
    TW_ASSIGN_OR_RETURN(index, Cast(kInt64, index));
    if (NodesUnder(index) > kMaxIndexNodes) {
      return InvalidArgument(fmt::format("an index of more than {} parts", kMaxIndexNodes));
    }
  }
  ExpressionNode made;
  made.kind = ExprKind::kLoad;
  made.dtype = type.dtype;
  made.integer = tensor;
  made.args = std::move(indices);
  return Add(std::move(made));
}

Status ExpressionBuilder::Finish(int body) {
  const DataType dtype = node(body).dtype;
  const bool reduces = stage_.reduction != ExpressionReduction::kNone;
  if (reduces && (dtype.is_bool() || dtype.is_half())) {
    return BadTypes(ReductionName(stage_.reduction), dtype, "numbers of 8, 32 or 64 bits");
  }
  // The body is the last node, and folded parts are gone.
  std::vector<ExpressionNode> kept;
  bool fits = true;
  const auto keep = [&](const auto& self, int i, int depth) -> int {
    fits = fits && depth <= kMaxTreeDepth && kept.size() < kMaxExpressionNodes;
    if (!fits) return 0;
    ExpressionNode copy = node(i);
    for (int& arg : copy.args) arg = self(self, arg, depth + 1);
    kept.push_back(std::move(copy));
    return static_cast<int>(kept.size()) - 1;
  };
  keep(keep, body, 0);
  if (!fits) {
    return InvalidArgument(
        fmt::format("more than {} parts, or {} in one another: make stages of it",
                    kMaxExpressionNodes, kMaxTreeDepth));
  }
  stage_.nodes = std::move(kept);
  return {};
}

}  // namespace tilewright
