#pragma once

#include <optional>

#include "src/ir/expr.h"

namespace tilewright {

/// Wraps `value` to an integer type and sign- or zero-extends the result to 64 bits.
std::int64_t WrapToType(DataType dtype, std::int64_t value);

/// Returns the value of an integer operation on constants of type `dtype`; comparisons give 0 or 1.
/// Returns nullopt if the operation has no defined value (division by zero, a shift by at least the
/// width).
std::optional<std::int64_t> FoldInt(ExprKind kind, DataType dtype, std::int64_t a, std::int64_t b);

/// The same for float32 and float64, rounded to the type. Returns nullopt for NaN and for other
/// operations.
std::optional<double> FoldFloat(ExprKind kind, DataType dtype, double a, double b);
std::optional<bool> FoldFloatComparison(ExprKind kind, double a, double b);

}  // namespace tilewright
