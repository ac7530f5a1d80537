#pragma once

#include <cstdint>
#include <string_view>

#include "src/tensor/tensor.h"

namespace tilewright {

/// Contents computed from a name: every element stands alone, so that any part can be made again.
/// Floats: in +-sqrt(6 / fan) for two or more dimensions (fan: products per result), else in
/// [0.5, 1.5).
Tensor MakeSeededFloat(std::string_view name, const TensorType& type, std::int64_t fan);
/// Whole numbers in -limit..limit, all equally likely.
Tensor MakeSeededInteger(std::string_view name, const TensorType& type, std::int64_t limit);
/// Largest r with r * r <= value.
std::int64_t IntegerRoot(std::int64_t value);

}  // namespace tilewright
