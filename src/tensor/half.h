#pragma once

#include <cstdint>

namespace tilewright {

/// Value of an IEEE 754 binary16 number.
float HalfToFloat(std::uint16_t half);
/// Nearest binary16 number, ties to even; too large becomes infinite.
std::uint16_t FloatToHalf(float value);

}  // namespace tilewright
