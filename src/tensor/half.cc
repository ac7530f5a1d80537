#include "src/tensor/half.h"

#include <bit>
#include <cmath>

namespace tilewright {

float HalfToFloat(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const int mantissa = half & 0x3ff;
  float magnitude;
  if (exponent == 0x1f) {
    magnitude = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t FloatToHalf(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  // 65520 is half way between the largest half, 65504, and the next power of two.
  if (magnitude >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);    // magnitude = f * 2^exponent, 0.5 <= f < 1
  if (exponent < -13) exponent = -13;  // subnormal: one unit is 2^-24
  auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));
  if (units >= 0x800) {
    units >>= 1;
    ++exponent;
  }
  if (units < 0x400) return static_cast<std::uint16_t>(sign | units);  // subnormal
  return static_cast<std::uint16_t>(sign | ((exponent + 14) << 10) | (units & 0x3ff));
}

float BFloat16ToFloat(std::uint16_t number) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number) << 16);
}

std::uint16_t FloatToBFloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace tilewright
