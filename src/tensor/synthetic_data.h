#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "src/tensor/tensor.h"

namespace tilewright {

/// Returns contents computed from a name. Elements are independent, so that any part can be
/// computed again. Floats: in +-sqrt(6 / fan) for two or more dimensions (fan: products per
/// result), else in [0.5, 1.5).
Tensor MakeSeededFloat(std::string_view name, const TensorType& type, std::int64_t fan);
/// Returns whole numbers in -limit..limit, all equally likely.
Tensor MakeSeededInteger(std::string_view name, const TensorType& type, std::int64_t limit);
/// Maps k in [0, 2^24), a hash of a tensor's name and an element's position, to the element.
using ElementRule = std::function<double(std::uint32_t k)>;
Tensor MakeByRule(std::string_view name, const TensorType& type, const ElementRule& rule);
/// Returns a whole number in -limit..limit.
std::int64_t CentredElement(std::uint32_t k, std::int64_t limit);

/// Returns the largest r with r * r <= value.
std::int64_t IntegerSqrt(std::int64_t value);

/// Returns floats that are uint8 numbers of that scale and zero point, all 256 equally likely.
Tensor MakeQuantizedInput(std::string_view value_name, const TensorType& type, double scale,
                          std::int64_t zero_point);
/// Rule for a value's synthetic input: float i/n for ONNX ("ramp"), seeded integers for Relay.
enum class SyntheticInputRule : std::uint8_t { kRamp, kSeededQuantized, kRandom };
/// Returns a synthetic input. kRamp: element i of n is i / n. kSeededQuantized: a whole number in
/// -127..127, divided by 16 for floats. kRandom: floats in [-1, 1), integers over the type's range
/// (at most +-2^15).
Tensor MakeSyntheticInput(std::string_view value_name, const TensorType& type,
                          SyntheticInputRule rule);

}  // namespace tilewright
