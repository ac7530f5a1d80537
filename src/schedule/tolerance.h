#pragma once

#include <optional>

#include "src/ir/stmt.h"

namespace tilewright {

/// Of float32 results whose factors tensor cores multiplied as tf32, with 13 bits less.
inline constexpr double kToleranceOfTf32 = 1e-2;

/// How far float results of the kernel may be from the reference, as a part of its root mean
/// square, where that is more than for others of their type (see Compare): kToleranceOfTf32 if
/// tensor cores multiply its float32 as tf32; kToleranceOfFloat16 if it rounds to float16.
std::optional<double> ToleranceOf(const Program& program);

}  // namespace tilewright
