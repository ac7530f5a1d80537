// Elementwise operators and casts whose expression is longer than a line of the operator table.

#include "src/tensor/compute/elementwise.h"

#include <cmath>
#include <limits>
#include <utility>

#include "src/tensor/compute/compute.h"
#include "src/tensor/compute/linear_index.h"
#include "src/tensor/operator_table.h"

namespace tilewright {

Expr Const(DataType dtype, double value) { return ConstantOf(dtype, value); }

Expr Call(const char* name, Expr a) {
  const DataType dtype = a.dtype();
  return MakeCall(dtype, name, {std::move(a)});
}

Expr IntegerDiv(Expr a, Expr b) {
  const DataType dtype = a.dtype();
  const Expr zero = MakeInt(dtype, 0), one = MakeInt(dtype, 1), minus_one = MakeInt(dtype, -1);
  std::int64_t constant = 0;
  if (b.IsInt(&constant)) {
    if (constant == 0) return zero;
    if (dtype.code == TypeCode::kInt && constant == -1) return zero - a;
    return Div(a, b);
  }
  const Expr is_zero = Eq(b, zero);
  if (dtype.code == TypeCode::kUInt) {
    return MakeSelect(is_zero, zero, Div(a, MakeSelect(is_zero, one, b)));
  }
  const Expr is_minus_one = Eq(b, minus_one);
  const Expr quotient = Div(a, MakeSelect(Or(is_zero, is_minus_one), one, b));
  return MakeSelect(is_zero, zero, MakeSelect(is_minus_one, zero - a, quotient));
}

Expr ShiftRight(Expr a, Expr b) {
  const Expr last = MakeInt(a.dtype(), a.dtype().bits - 1);
  std::int64_t constant = 0;
  if (b.IsInt(&constant)) {
    if (constant < 0 || constant >= a.dtype().bits) b = last;
  } else {
    // Negative amounts come first: they would pass the upper bound.
    if (b.dtype().code == TypeCode::kInt) b = MakeSelect(Lt(b, MakeInt(b.dtype(), 0)), last, b);
    b = Min(b, last);
  }
  return MakeBinary(ExprKind::kShiftRight, a, b);
}

Expr ClipExpr(Expr a, double low, double high) {
  const DataType dtype = a.dtype();
  if (dtype.is_float()) {
    if (std::isfinite(low)) a = Max(a, Const(dtype, low));
    if (std::isfinite(high)) a = Min(a, Const(dtype, high));
    return a;
  }
  constexpr double kLimit = 9.2e18;  // a larger bound bounds no integer
  low = std::ceil(low);
  high = std::floor(high);
  const double lowest = static_cast<double>(LowestOf(dtype)->int_value);
  const double highest = dtype.code == TypeCode::kUInt && dtype.bits == 64
                             ? kLimit
                             : static_cast<double>(HighestOf(dtype)->int_value);
  if (low > lowest) a = Max(a, low >= highest ? HighestOf(dtype) : Const(dtype, low));
  if (high < highest) a = Min(a, high <= lowest ? LowestOf(dtype) : Const(dtype, high));
  return a;
}

Expr CastExpr(DataType to, Expr a) {
  if (to.is_bool() && !a.dtype().is_bool()) {
    return MakeBinary(ExprKind::kNe, a, Const(a.dtype(), 0));
  }
  return MakeCast(to, a);
}

Expr SaturateCastExpr(DataType to, Expr a) {
  if (!to.is_integer()) return CastExpr(to, a);
  if (a.dtype().is_float()) {
    // The bounds of types wider than 16 bits are no float32.
    if (to.bits > 16) a = MakeCast(kFloat64, a);
    const DataType from = a.dtype();
    a = Call("rint", a);
    a = Max(a, Const(from, static_cast<double>(LowestOf(to)->int_value)));
    a = Min(a, Const(from, static_cast<double>(HighestOf(to)->int_value)));
    return MakeCast(to, a);
  }
  if (a.dtype().is_bool()) return MakeCast(to, a);
  const bool to_unsigned = to.code == TypeCode::kUInt;
  const bool from_unsigned = a.dtype().code == TypeCode::kUInt;
  if (to_unsigned && !from_unsigned) a = Max(a, MakeInt(a.dtype(), 0));
  if (!to_unsigned && !from_unsigned && to.bits < a.dtype().bits) {
    a = Max(a, MakeInt(a.dtype(), LowestOf(to)->int_value));
  }
  const int value_bits_to = to.bits - (to_unsigned ? 0 : 1);
  const int value_bits_from = a.dtype().bits - (from_unsigned ? 0 : 1);
  if (value_bits_to < value_bits_from) {
    a = Min(a, MakeInt(a.dtype(), HighestOf(to)->int_value));
  }
  return MakeCast(to, a);
}

Expr FixedPointMultiply(Expr x, std::int64_t multiplier, std::int64_t shift) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 30;
  if (multiplier == kHalf) {
    if (shift >= 1) {
      return MakeBinary(ExprKind::kShiftLeft, x, MakeInt(kInt32, shift - 1));
    }
    const Expr rounding = MakeInt(kInt32, std::int64_t{1} << -shift);
    return MakeBinary(ExprKind::kShiftRight, x + rounding, MakeInt(kInt32, 1 - shift));
  }
  const std::int64_t left = std::max<std::int64_t>(shift, 0);
  const std::int64_t right = 31 + std::max<std::int64_t>(-shift, 0);
  Expr wide = MakeCast(kInt64, x);
  if (left > 0) wide = MakeBinary(ExprKind::kShiftLeft, wide, MakeInt(kInt64, left));
  wide = wide * MakeInt(kInt64, multiplier) + MakeInt(kInt64, std::int64_t{1} << (right - 1));
  return MakeCast(kInt32, MakeBinary(ExprKind::kShiftRight, wide, MakeInt(kInt64, right)));
}

Expr HardSigmoid(Expr a, double alpha, double beta) {
  const DataType dtype = a.dtype();
  const Expr line = a * Const(dtype, alpha) + Const(dtype, beta);
  return Max(Min(line, Const(dtype, 1)), Const(dtype, 0));
}

Expr ElementwiseExpr(const Operator& op, Expr a, Expr b) {
  const OperatorRow& row = RowOf(op.kind);
  TW_CHECK(row.element != nullptr, row.name);
  if (a.dtype() == kBFloat16 && op.kind != OpKind::kCast) {
    const Expr wide = ElementwiseExpr(op, MakeCast(kFloat32, a), b ? MakeCast(kFloat32, b) : b);
    return wide.dtype() == kFloat32 ? MakeCast(kBFloat16, wide) : wide;
  }
  // Rounding has no effect on an integer; the other functions accept floats only.
  if (row.float_only && !b && !a.dtype().is_float()) return a;
  // Steps of a function round in float32, its result is rounded once.
  if (row.float_only && !b && !row.rounds && a.dtype() == kFloat16) {
    return MakeCast(kFloat16, row.element(op.attributes, MakeCast(kFloat32, a), b));
  }
  return row.element(op.attributes, a, b);
}

}  // namespace tilewright
