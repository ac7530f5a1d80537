#pragma once

#include <optional>

#include "src/ir/stmt.h"

namespace tilewright {

/// How far float results of the kernel may be from the reference, as a part of its root mean
/// square, where that is more than for others of their type (see Compare): 1e-2 if tensor cores
/// multiply its float32 as tf32, which drops 13 bits of each factor; kToleranceOfFloat16 if it
/// rounds to float16.
std::optional<double> ToleranceOf(const Program& program);

}  // namespace tilewright
