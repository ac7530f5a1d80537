#pragma once

#include <cstdint>

namespace tilewright::quantize {

/// Positive factor as `multiplier * 2^(shift - 31)`, 2^30 <= multiplier < 2^31; (0, 0) for 0.
struct FixedPoint {
  std::int64_t multiplier = 0;
  int shift = 0;
};
FixedPoint ToFixedPoint(double factor);

/// Returns true if factor is exactly 2^k, and sets `exponent` to k.
bool IsPowerOfTwo(double factor, int* exponent);

}  // namespace tilewright::quantize
