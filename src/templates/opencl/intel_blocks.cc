#include "src/templates/opencl/intel_blocks.h"

#include <algorithm>
#include <cstddef>

namespace tilewright {

IntelBlocks IntelBlocksOf(std::int64_t oh, std::int64_t ow) {
  constexpr std::int64_t kLargest = 16;
  constexpr std::size_t kEnough = 5;
  IntelBlocks lists;
  std::int64_t i = oh, j = ow;
  for (; i > 0 && j > 0; --i, --j) {
    if (i <= kLargest && oh % i == 0) lists.rows.push_back(i);
    if (j <= kLargest && ow % j == 0) lists.columns.push_back(j);
  }
  for (std::int64_t r = 2; r < oh && lists.rows.size() < kEnough; ++r) {
    if (std::ranges::count(lists.rows, r) == 0) lists.rows.push_back(r);
  }
  for (std::int64_t c = std::min(ow - 1, kLargest); c > 1 && lists.columns.size() < kEnough; --c) {
    if (std::ranges::count(lists.columns, c) == 0) lists.columns.push_back(c);
  }
  return lists;
}

std::vector<std::int64_t> DivisorsWithin(std::int64_t extent, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = low; d <= std::min(extent, high); ++d) {
    if (extent % d == 0) divisors.push_back(d);
  }
  return divisors;
}

}  // namespace tilewright
