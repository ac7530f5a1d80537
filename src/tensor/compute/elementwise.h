#pragma once

#include <cstdint>

#include "src/ir/expr.h"

namespace tilewright {

// What the rows of elementwise operators are written with.

/// A constant of any type, cut to it.
Expr Const(DataType dtype, double value);
/// A function of one argument that the IR knows, of the argument's type.
Expr Call(const char* name, Expr a);
/// Quotient truncated towards zero, with the two undefined cases given values: x / 0 is 0, and the
/// lowest number divided by -1 wraps to itself.
Expr IntegerDiv(Expr a, Expr b);
/// Arithmetic shift; amounts outside the width count as the width less one.
Expr ShiftRight(Expr a, Expr b);
/// Integer bounds are rounded inwards and cut to the type; infinite ones do nothing.
Expr ClipExpr(Expr a, double low, double high);
/// A float is truncated, an integer wraps; bool is what is not 0.
Expr CastExpr(DataType to, Expr a);
/// Rounds half to even and cuts to the range of the integer type `to`.
Expr SaturateCastExpr(DataType to, Expr a);
/// TVM's fixed_point_multiply: x * multiplier * 2^(shift - 31) in int64, rounded half upwards; a
/// multiplier of 2^30 is a shift in 32 bits.
Expr FixedPointMultiply(Expr x, std::int64_t multiplier, std::int64_t shift);
/// alpha * a + beta, from 0 to 1.
Expr HardSigmoid(Expr a, double alpha, double beta);

}  // namespace tilewright
