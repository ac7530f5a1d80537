#pragma once

#include <cstdint>
#include <vector>

namespace tilewright {

/// Returns the smallest integer not below a / b, for a >= 0 and b > 0.
constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t RoundUp(std::int64_t a, std::int64_t b) { return CeilDiv(a, b) * b; }
/// Division rounded towards minus infinity, and its remainder (never negative for b > 0).
constexpr std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
constexpr std::int64_t FloorMod(std::int64_t a, std::int64_t b) { return a - FloorDiv(a, b) * b; }

/// Returns the product of the elements; 1 for none.
inline std::int64_t Product(const std::vector<std::int64_t>& values) {
  std::int64_t product = 1;
  for (std::int64_t v : values) product *= v;
  return product;
}

}  // namespace tilewright
