#pragma once

#include <optional>

#include "src/ir/stmt.h"

namespace tilewright {

/// Tolerance of float32 results whose factors tensor cores multiplied as tf32, with 13 bits less.
inline constexpr double kToleranceOfTf32 = 1e-2;

/// Returns the tolerance of the kernel's float results relative to the root mean square of the
/// reference, if it exceeds the default of their type (see Compare). kToleranceOfTf32 if tensor
/// cores multiply its float32 as tf32; kToleranceOfFloat16 if it rounds to float16.
std::optional<double> ToleranceOf(const Program& program);

}  // namespace tilewright
