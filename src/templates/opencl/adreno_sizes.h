#pragma once

#include <cstdint>

namespace tilewright {

/// Channels of a texel: of each block of channels of AutoTVM's templates for Adreno.
inline constexpr std::int64_t kTexelChannels = 4;

/// Returns the rows or columns of the result that AutoTVM's templates for Adreno tile: a multiple
/// of 4, so that tiles of 2 and 4 divide them. The last ones are not computed.
constexpr std::int64_t AdrenoExtent(std::int64_t extent) {
  const std::int64_t even = extent + extent % 2;
  return even + even % kTexelChannels;
}

/// Rows and columns of a tile of the result in AutoTVM's Winograd template for Adreno.
/// rows: of the data.
constexpr std::int64_t AdrenoWinogradTile(std::int64_t rows) {
  constexpr std::int64_t kLarge = 4, kSmall = 2, kRowsOfLarge = 8;
  return rows % kRowsOfLarge == 0 ? kLarge : kSmall;
}

/// Returns the least number of virtual threads along tiles of that template: the largest of 4, 3, 2
/// and 1 that divides the number of tiles.
constexpr std::int64_t AdrenoLeastTiles(std::int64_t tiles) {
  std::int64_t least = 4;
  while (tiles % least != 0) --least;
  return least;
}

}  // namespace tilewright
