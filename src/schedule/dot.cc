#include "src/schedule/dot.h"

#include <cstdint>
#include <limits>

#include "src/ir/visit.h"

namespace tilewright {
namespace {

bool IsZero(const Expr& e) {
  return (e->kind == ExprKind::kInt && e->int_value == 0) ||
         (e->kind == ExprKind::kFloat && e->float_value == 0);
}

/// Returns true for the minimum of its type.
bool IsLeast(const Expr& e) {
  if (e->kind == ExprKind::kFloat) {
    return e->float_value == -std::numeric_limits<double>::infinity();
  }
  if (e->kind != ExprKind::kInt) return false;
  const bool is_signed = e->dtype.code == TypeCode::kInt;
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  return e->int_value == (is_signed ? kMin >> (64 - e->dtype.bits) : 0);
}

bool Loads(const Expr& e) { return HasKind(e, ExprKind::kLoad); }

/// Returns the number of bits of a magnitude that the type represents exactly; 0 for a non-numeric
/// type.
int ExactBits(DataType type) {
  switch (type.code) {
    case TypeCode::kInt:
      return type.bits - 1;
    case TypeCode::kUInt:
      return type.bits;
    case TypeCode::kFloat:
      return type.bits == 16 ? 11 : type.bits == 32 ? 24 : 53;
    case TypeCode::kBFloat:
      return 8;
    case TypeCode::kBool:
      return 0;
  }
  return 0;
}

/// Returns true if every value of type `from` is a value of type `to`.
bool KeepsValues(DataType from, DataType to) {
  if (from == to) return true;
  if (from.is_bool() || to.is_bool()) return false;
  if (from.is_float() && !to.is_float()) return false;
  if (from.code == TypeCode::kInt && to.code == TypeCode::kUInt) return false;
  if (from == kBFloat16 && to == kFloat16) return false;  // of a smaller range
  return ExactBits(from) <= ExactBits(to);
}

/// Returns the operand of lossless casts. Other casts wrap, truncate or round a value that an
/// instruction would multiply unchanged.
Expr WithoutWidening(Expr e) {
  while (e->kind == ExprKind::kCast && KeepsValues(e->args[0].dtype(), e->dtype)) e = e->args[0];
  return e;
}

}  // namespace

void AppendConjuncts(const Expr& condition, std::vector<Expr>* conjuncts) {
  if (condition->kind == ExprKind::kAnd) {
    AppendConjuncts(condition->args[0], conjuncts);
    AppendConjuncts(condition->args[1], conjuncts);
  } else {
    conjuncts->push_back(condition);
  }
}

Expr StripZeroTaps(const Expr& product, std::vector<Expr>* conditions) {
  switch (product->kind) {
    case ExprKind::kMul: {
      Expr a = StripZeroTaps(product->args[0], conditions);
      Expr b = StripZeroTaps(product->args[1], conditions);
      if (a.Same(product->args[0]) && b.Same(product->args[1])) return product;
      return MakeBinary(ExprKind::kMul, std::move(a), std::move(b));
    }
    case ExprKind::kCast: {
      Expr value = StripZeroTaps(product->args[0], conditions);
      return value.Same(product->args[0]) ? product : MakeCast(product->dtype, std::move(value));
    }
    case ExprKind::kSelect:
      if (!IsZero(product->args[2]) || Loads(product->args[0])) return product;
      AppendConjuncts(product->args[0], conditions);
      return StripZeroTaps(product->args[1], conditions);
    default:
      return product;
  }
}

Expr StripPaddedTaps(const ComputeOp& op, std::vector<Expr>* conditions) {
  const Expr& body = op.body;
  if (op.combiner == Combiner::kSum) return StripZeroTaps(body, conditions);
  if (op.combiner != Combiner::kMax || body->kind != ExprKind::kSelect || Loads(body->args[0]) ||
      !IsLeast(body->args[2])) {
    return body;
  }
  AppendConjuncts(body->args[0], conditions);
  return body->args[1];
}

Expr IdentityElementOf(Combiner combiner, DataType dtype) {
  if (combiner == Combiner::kSum) return MakeConst(dtype, 0);
  if (combiner == Combiner::kProduct) return MakeConst(dtype, 1);
  const bool max = combiner == Combiner::kMax;
  if (dtype.is_float()) {
    const double infinity = std::numeric_limits<double>::infinity();
    return MakeFloat(dtype, max ? -infinity : infinity);
  }
  const bool is_unsigned = dtype.code == TypeCode::kUInt;
  // All ones is the largest unsigned and, shifted right, the largest signed integer.
  const std::int64_t largest =
      is_unsigned ? -1 : static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - dtype.bits));
  const std::int64_t smallest = is_unsigned ? 0 : -largest - 1;
  return MakeInt(dtype, max ? smallest : largest);
}

std::optional<ProductTypes> TypesOfIntrinsic(std::string_view name) {
  if (const DotIntrinsic* dot = FindDotIntrinsic(name)) {
    return ProductTypes{dot->a, dot->b, dot->acc};
  }
  if (const TileIntrinsic* tiles = FindTileIntrinsic(name)) {
    return ProductTypes{tiles->a, tiles->b, tiles->acc};
  }
  const MmaIntrinsic* mma = FindMmaIntrinsic(name);
  if (mma == nullptr) return std::nullopt;
  return ProductTypes{mma->operand, mma->operand, mma->acc};
}

Result<DotOperands> MatchProducts(const ComputeOp& op, const ProductTypes& types) {
  if (op.combiner != Combiner::kSum) return InvalidArgument("the stage is not a sum");
  if (op.output->dtype != types.acc) {
    return InvalidArgument("the sum is " + DataTypeName(op.output->dtype) + ", expected " +
                           DataTypeName(types.acc));
  }
  std::vector<Expr> conditions;
  const Expr body = StripZeroTaps(op.body, &conditions);
  if (body->kind != ExprKind::kMul) return InvalidArgument("the stage sums no products");
  DotOperands operands{WithoutWidening(body->args[0]), WithoutWidening(body->args[1])};
  if (operands.a->kind != ExprKind::kLoad || operands.b->kind != ExprKind::kLoad) {
    return InvalidArgument("a factor is neither a load nor a lossless cast of one");
  }
  const auto fits = [&] { return operands.a.dtype() == types.a && operands.b.dtype() == types.b; };
  if (!fits()) std::swap(operands.a, operands.b);
  if (!fits()) {
    std::swap(operands.a, operands.b);
    return InvalidArgument("factors are " + DataTypeName(operands.a.dtype()) + " and " +
                           DataTypeName(operands.b.dtype()) + ", expected " +
                           DataTypeName(types.a) + " and " + DataTypeName(types.b));
  }
  return operands;
}

}  // namespace tilewright
