#pragma once

#include <cstdint>

#include "src/ir/expr.h"

namespace tilewright {

// Expressions for the rows of elementwise operators.

/// Returns a constant of any type, saturated to it.
Expr Const(DataType dtype, double value);
/// Returns a call of an IR function of one argument; its type is the argument's.
Expr Call(const char* name, Expr a);
/// Returns the quotient truncated towards zero, with values for the two undefined cases: x / 0 is
/// 0, and the lowest number divided by -1 wraps to itself.
Expr IntegerDiv(Expr a, Expr b);
/// Returns an arithmetic shift; amounts outside of the width count as the width less one.
Expr ShiftRight(Expr a, Expr b);
/// Clips to bounds. Integer bounds are rounded inwards and saturated to the type; infinite ones
/// have no effect.
Expr ClipExpr(Expr a, double low, double high);
/// Casts: a float is truncated, an integer wraps; bool is true for all but 0.
Expr CastExpr(DataType to, Expr a);
/// Rounds half to even and saturates to the range of the integer type `to`.
Expr SaturateCastExpr(DataType to, Expr a);
/// Returns TVM's fixed_point_multiply: x * multiplier * 2^(shift - 31) in int64, rounded half
/// upwards; a multiplier of 2^30 is a shift in 32 bits.
Expr FixedPointMultiply(Expr x, std::int64_t multiplier, std::int64_t shift);
/// Returns alpha * a + beta, clipped to 0 to 1.
Expr HardSigmoid(Expr a, double alpha, double beta);

}  // namespace tilewright
