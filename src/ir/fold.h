#pragma once

#include <optional>

#include "src/ir/expr.h"

namespace tilewright {

/// The bits of `value` that an integer of this type keeps, sign- or zero-extended to 64.
std::int64_t WrapToType(DataType dtype, std::int64_t value);

/// Value of an integer operation on constants of type `dtype`; comparisons give 0 or 1. None where
/// the operation has no defined value (division by zero, a shift by the width or more).
std::optional<std::int64_t> FoldInt(ExprKind kind, DataType dtype, std::int64_t a, std::int64_t b);

/// The same for float32 and float64, rounded to the type; none for NaN and for other operations.
std::optional<double> FoldFloat(ExprKind kind, DataType dtype, double a, double b);
std::optional<bool> FoldFloatComparison(ExprKind kind, double a, double b);

}  // namespace tilewright
