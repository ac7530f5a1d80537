// Construction of expressions. The Make functions fold constants and drop neutral elements, so an
// expression with an unconditionally simpler equivalent is never built.

#include "src/ir/expr.h"

#include <cmath>

#include "src/base/math.h"
#include "src/base/status.h"
#include "src/ir/fold.h"

namespace tilewright {
namespace {

Expr MakeNode(ExprNode node) { return Expr(std::make_shared<const ExprNode>(std::move(node))); }

bool IsComparison(ExprKind kind) {
  return kind == ExprKind::kEq || kind == ExprKind::kNe || kind == ExprKind::kLt ||
         kind == ExprKind::kLe;
}
bool IsLogic(ExprKind kind) { return kind == ExprKind::kAnd || kind == ExprKind::kOr; }

/// Gives an index constant the type of the other operand.
void Adapt(Expr* a, Expr* b) {
  if (a->dtype() == b->dtype()) return;
  const auto adapt = [](Expr* constant, const Expr& other) {
    std::int64_t value = 0;
    if (constant->dtype() != kInt64 || !constant->IsInt(&value)) return false;
    *constant = other.dtype().is_float() ? MakeFloat(other.dtype(), static_cast<double>(value))
                                         : MakeInt(other.dtype(), value);
    return true;
  };
  TW_CHECK(adapt(a, *b) || adapt(b, *a),
           "operands of types " + DataTypeName(a->dtype()) + " and " + DataTypeName(b->dtype()));
}

bool IsFloat(const Expr& e, double value) {
  return e->kind == ExprKind::kFloat && e->float_value == value;
}

/// Returns the value if both operands are constant, or null.
Expr FoldConstants(ExprKind kind, const Expr& a, const Expr& b) {
  const DataType dtype = a.dtype();
  const bool truth = IsComparison(kind) || IsLogic(kind);
  if (a->kind == ExprKind::kInt && b->kind == ExprKind::kInt) {
    const auto value = FoldInt(kind, dtype, a->int_value, b->int_value);
    return value ? MakeInt(truth ? kBool : dtype, *value) : Expr();
  }
  if (a->kind != ExprKind::kFloat || b->kind != ExprKind::kFloat) return Expr();
  if (truth) {
    const auto value = FoldFloatComparison(kind, a->float_value, b->float_value);
    return value ? MakeInt(kBool, *value ? 1 : 0) : Expr();
  }
  const auto value = FoldFloat(kind, dtype, a->float_value, b->float_value);
  return value ? MakeFloat(dtype, *value) : Expr();
}

/// Simplifies for an integer constant b: neutral and absorbing elements, and sums of sums with
/// constants.
Expr SimplifyWithConstant(ExprKind kind, const Expr& a, std::int64_t b) {
  const DataType dtype = a.dtype();
  switch (kind) {
    case ExprKind::kAdd:
    case ExprKind::kSub: {
      if (b == 0) return a;
      const std::int64_t signed_b = kind == ExprKind::kAdd ? b : -b;
      if (dtype == kInt64 && a->kind == ExprKind::kAdd && a->args[1].IsInt()) {
        return a->args[0] + MakeInt(dtype, a->args[1]->int_value + signed_b);
      }
      if (dtype == kInt64 && kind == ExprKind::kSub) return a + MakeInt(dtype, signed_b);
      return Expr();
    }
    case ExprKind::kMul:
      if (b == 0) return MakeInt(dtype, 0);
      if (b == 1) return a;
      if (dtype == kInt64 && a->kind == ExprKind::kMul && a->args[1].IsInt()) {
        return a->args[0] * MakeInt(dtype, a->args[1]->int_value * b);
      }
      return Expr();
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
      return b == 1 ? a : Expr();
    case ExprKind::kFloorMod:
      return b == 1 ? MakeInt(dtype, 0) : Expr();
    case ExprKind::kShiftLeft:
    case ExprKind::kShiftRight:
      return b == 0 ? a : Expr();
    case ExprKind::kAnd:
      return b != 0 ? a : MakeInt(kBool, 0);
    case ExprKind::kOr:
      return b != 0 ? MakeInt(kBool, 1) : a;
    default:
      return Expr();
  }
}

/// Simplifies for two operands that are the same node.
Expr SimplifySame(ExprKind kind, const Expr& a) {
  switch (kind) {
    case ExprKind::kSub:
      return a.dtype().is_float() ? Expr() : MakeInt(a.dtype(), 0);
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return a;
    case ExprKind::kEq:
    case ExprKind::kLe:
      return a.dtype().is_float() ? Expr() : MakeInt(kBool, 1);
    case ExprKind::kNe:
    case ExprKind::kLt:
      return a.dtype().is_float() ? Expr() : MakeInt(kBool, 0);
    default:
      return Expr();
  }
}

Expr SimplifyFloat(ExprKind kind, const Expr& a, const Expr& b) {
  if (kind == ExprKind::kMul && IsFloat(a, 1)) return b;
  if ((kind == ExprKind::kMul || kind == ExprKind::kDiv) && IsFloat(b, 1)) return a;
  if (kind == ExprKind::kAdd && IsFloat(a, 0)) return b;
  if ((kind == ExprKind::kAdd || kind == ExprKind::kSub) && IsFloat(b, 0)) return a;
  return Expr();
}

bool Commutes(ExprKind kind) {
  switch (kind) {
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::int64_t BufferNode::elements() const { return Product(shape); }

Buffer MakeBuffer(std::string name, DataType dtype, std::vector<std::int64_t> shape, Scope scope) {
  return std::make_shared<const BufferNode>(
      BufferNode{std::move(name), dtype, std::move(shape), scope});
}

Expr::Expr(std::int64_t value) : Expr(MakeInt(kInt64, value)) {}

DataType Expr::dtype() const { return node_->dtype; }

bool Expr::IsInt(std::int64_t* value) const {
  if (node_ == nullptr || node_->kind != ExprKind::kInt) return false;
  if (value != nullptr) *value = node_->int_value;
  return true;
}

Expr MakeVar(std::string name, DataType dtype) {
  ExprNode node{.kind = ExprKind::kVar, .dtype = dtype, .name = {}, .buffer = {}, .args = {}};
  node.name = std::move(name);
  return MakeNode(std::move(node));
}

Expr MakeInt(DataType dtype, std::int64_t value) {
  TW_CHECK(!dtype.is_float());
  ExprNode node{.kind = ExprKind::kInt, .dtype = dtype, .name = {}, .buffer = {}, .args = {}};
  node.int_value = WrapToType(dtype, value);
  return MakeNode(std::move(node));
}

Expr MakeFloat(DataType dtype, double value) {
  TW_CHECK(dtype.is_float());
  ExprNode node{.kind = ExprKind::kFloat, .dtype = dtype, .name = {}, .buffer = {}, .args = {}};
  node.float_value = dtype.bits == 32 ? static_cast<double>(static_cast<float>(value)) : value;
  return MakeNode(std::move(node));
}

Expr MakeConst(DataType dtype, double value) {
  return dtype.is_float() ? MakeFloat(dtype, value)
                          : MakeInt(dtype, static_cast<std::int64_t>(value));
}

Expr MakeCast(DataType dtype, Expr value) {
  const DataType from = value.dtype();
  if (from == dtype) return value;
  if (value->kind == ExprKind::kInt) {
    return dtype.is_float() ? MakeFloat(dtype, static_cast<double>(value->int_value))
                            : MakeInt(dtype, value->int_value);
  }
  if (value->kind == ExprKind::kFloat) {
    const double v = value->float_value;
    if (dtype.is_float()) return MakeFloat(dtype, v);
    // Within this bound truncation to int64 is defined; beyond it the result depends on the back
    // end.
    constexpr double kInt64Bound = 9.2e18;
    if (!dtype.is_bool() && std::abs(v) < kInt64Bound) {
      return MakeInt(dtype, static_cast<std::int64_t>(v));
    }
  }
  ExprNode node{.kind = ExprKind::kCast, .dtype = dtype, .name = {}, .buffer = {}, .args = {}};
  node.args.push_back(std::move(value));
  return MakeNode(std::move(node));
}

Expr MakeBinary(ExprKind kind, Expr a, Expr b) {
  Adapt(&a, &b);
  TW_CHECK(!IsLogic(kind) || a.dtype().is_bool(), "and / or of " + DataTypeName(a.dtype()));
  if (Expr folded = FoldConstants(kind, a, b)) return folded;
  if (Commutes(kind) && a.IsInt()) std::swap(a, b);
  Expr simpler;
  std::int64_t constant = 0;
  if (a.dtype().is_float()) simpler = SimplifyFloat(kind, a, b);
  if (!simpler && b.IsInt(&constant)) simpler = SimplifyWithConstant(kind, a, constant);
  if (!simpler && a.Same(b)) simpler = SimplifySame(kind, a);
  if (simpler) return simpler;
  const bool truth = IsComparison(kind) || IsLogic(kind);
  ExprNode node{
      .kind = kind, .dtype = truth ? kBool : a.dtype(), .name = {}, .buffer = {}, .args = {}};
  node.args.reserve(2);
  node.args.push_back(std::move(a));
  node.args.push_back(std::move(b));
  return MakeNode(std::move(node));
}

Expr MakeSelect(Expr condition, Expr if_true, Expr if_false) {
  Adapt(&if_true, &if_false);
  std::int64_t value = 0;
  if (condition.IsInt(&value)) return value != 0 ? if_true : if_false;
  if (if_true.Same(if_false)) return if_true;
  ExprNode node{
      .kind = ExprKind::kSelect, .dtype = if_true.dtype(), .name = {}, .buffer = {}, .args = {}};
  node.args.reserve(3);  // an initializer list would copy them
  node.args.push_back(std::move(condition));
  node.args.push_back(std::move(if_true));
  node.args.push_back(std::move(if_false));
  return MakeNode(std::move(node));
}

Expr MakeNot(Expr a) {
  std::int64_t value = 0;
  if (a.IsInt(&value)) return MakeInt(kBool, value == 0 ? 1 : 0);
  if (a->kind == ExprKind::kNot) return a->args[0];
  ExprNode node{.kind = ExprKind::kNot, .dtype = kBool, .name = {}, .buffer = {}, .args = {}};
  node.args.push_back(std::move(a));
  return MakeNode(std::move(node));
}

Expr MakeLoad(Buffer buffer, std::vector<Expr> indices) {
  TW_CHECK(indices.size() == buffer->shape.size(), buffer->name);
  ExprNode node{
      .kind = ExprKind::kLoad, .dtype = buffer->dtype, .name = {}, .buffer = {}, .args = {}};
  node.buffer = std::move(buffer);
  node.args = std::move(indices);
  return MakeNode(std::move(node));
}

Expr MakeCall(DataType dtype, std::string name, std::vector<Expr> args) {
  ExprNode node{.kind = ExprKind::kCall, .dtype = dtype, .name = {}, .buffer = {}, .args = {}};
  node.name = std::move(name);
  node.args = std::move(args);
  return MakeNode(std::move(node));
}

Expr operator+(Expr a, Expr b) { return MakeBinary(ExprKind::kAdd, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return MakeBinary(ExprKind::kSub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return MakeBinary(ExprKind::kMul, std::move(a), std::move(b)); }
Expr Div(Expr a, Expr b) { return MakeBinary(ExprKind::kDiv, std::move(a), std::move(b)); }
Expr FloorDiv(Expr a, Expr b) {
  return MakeBinary(ExprKind::kFloorDiv, std::move(a), std::move(b));
}
Expr FloorMod(Expr a, Expr b) {
  return MakeBinary(ExprKind::kFloorMod, std::move(a), std::move(b));
}
Expr Min(Expr a, Expr b) { return MakeBinary(ExprKind::kMin, std::move(a), std::move(b)); }
Expr Max(Expr a, Expr b) { return MakeBinary(ExprKind::kMax, std::move(a), std::move(b)); }
Expr Lt(Expr a, Expr b) { return MakeBinary(ExprKind::kLt, std::move(a), std::move(b)); }
Expr Le(Expr a, Expr b) { return MakeBinary(ExprKind::kLe, std::move(a), std::move(b)); }
Expr Eq(Expr a, Expr b) { return MakeBinary(ExprKind::kEq, std::move(a), std::move(b)); }
Expr And(Expr a, Expr b) { return MakeBinary(ExprKind::kAnd, std::move(a), std::move(b)); }
Expr Or(Expr a, Expr b) { return MakeBinary(ExprKind::kOr, std::move(a), std::move(b)); }

}  // namespace tilewright
