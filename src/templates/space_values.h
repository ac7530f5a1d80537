#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/space/config.h"

namespace tilewright {

// Helpers for values of knobs, spaces and configs.

/// Returns the largest divisor of `extent` that is at most `limit` (at least 1).
std::int64_t LargestDivisor(std::int64_t extent, std::int64_t limit);
/// Returns the largest power of two that is at most `limit` (at least 1) and divides `extent`.
std::int64_t LargestPowerOfTwo(std::int64_t extent, std::int64_t limit);
/// Returns the smallest tile for each possible number of tiles, ascending, so that the last tile
/// wastes least. Extent 56, limit 28: 1, 2, …, 8, 10, 12, 14, 19, 28.
std::vector<std::int64_t> MinWasteTiles(std::int64_t extent, std::int64_t limit);

/// Returns sizes of one pass over `all`: a few small counts, and `all`.
std::vector<std::int64_t> PassSizes(std::int64_t all);
/// Returns the largest of `sizes` (ascending) with which `threads` threads, each taking the next
/// pass when its own ends, are busy nearly all of the time; if there is none, the size that keeps
/// them busiest. A pass is up to `size` of `count` tiles of one group.
/// groups: work of a tile of each group.
std::int64_t BalancedPass(const std::vector<std::int64_t>& sizes, std::int64_t count,
                          const std::vector<double>& groups, int threads);

/// Returns the split of `extent` in two with the given inner factor.
KnobValue InnerFactor(std::int64_t extent, std::int64_t inner);
/// Returns the config of these values in the space. Errors: those of ConfigSpace::Locate.
Result<Config> LocateValues(const ConfigSpace& space,
                            std::vector<std::pair<std::string, KnobValue>> values);
/// Returns a space of the knobs, in order. Errors: those of Knob::Split and ConfigSpace::Add.
Result<ConfigSpace> MakeSpace(std::vector<Result<Knob>> knobs);

}  // namespace tilewright
