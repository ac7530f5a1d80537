#pragma once

#include <cstdint>
#include <vector>

namespace tilewright {

/// Returns the divisors of a positive number, ascending.
inline std::vector<std::int64_t> Divisors(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d != number / d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

}  // namespace tilewright
