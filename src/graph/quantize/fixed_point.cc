#include "src/graph/quantize/fixed_point.h"

#include <cmath>

namespace tilewright::quantize {

FixedPoint ToFixedPoint(double factor) {
  if (factor == 0) return {};
  FixedPoint result;
  const double fraction = std::frexp(factor, &result.shift);
  result.multiplier = std::llround(std::ldexp(fraction, 31));
  if (result.multiplier == std::int64_t{1} << 31) {
    result.multiplier /= 2;
    ++result.shift;
  }
  return result;
}

bool IsPowerOfTwo(double factor, int* exponent) {
  if (!(factor > 0) || std::frexp(factor, exponent) != 0.5) return false;
  --*exponent;
  return true;
}

}  // namespace tilewright::quantize
