#pragma once

#include <cstdint>
#include <vector>

namespace tilewright {

/// Values of the knobs block_oh and block_ow of AutoTVM's convolution for Intel graphics: rows and
/// columns that one work-item computes.
struct IntelBlocks {
  std::vector<std::int64_t> rows, columns;
};
/// Returns the values for a result of this size. AutoTVM finds both in one loop, so that each
/// depends on the other size, too. A list can be empty.
IntelBlocks IntelBlocksOf(std::int64_t oh, std::int64_t ow);

/// Returns the divisors within `low` and `high`, ascending.
std::vector<std::int64_t> DivisorsWithin(std::int64_t extent, std::int64_t low, std::int64_t high);

}  // namespace tilewright
