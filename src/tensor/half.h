#pragma once

#include <cstdint>

namespace tilewright {

/// Returns the value of an IEEE 754 binary16 number.
float HalfToFloat(std::uint16_t half);
/// Returns the nearest binary16 number, ties to even; infinity beyond the range.
std::uint16_t FloatToHalf(float value);

/// Returns the value of a bfloat16 number.
float BFloat16ToFloat(std::uint16_t number);
/// Returns the nearest bfloat16 number, ties to even; infinity beyond the range.
std::uint16_t FloatToBFloat16(float value);

}  // namespace tilewright
