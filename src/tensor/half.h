#pragma once

#include <cstdint>

namespace tilewright {

/// Returns the value of an IEEE 754 binary16 number.
float HalfToFloat(std::uint16_t half);
/// Returns the nearest binary16 number, ties to even; infinity beyond the range.
std::uint16_t FloatToHalf(float value);

}  // namespace tilewright
