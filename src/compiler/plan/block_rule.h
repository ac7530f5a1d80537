#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/graph/open/size_range.h"

namespace tilewright {

/// Register tile of a dense layer with one measured time, for ChooseTiles.
struct TileTime {
  int weight = 0;                  ///< number of its packed form of the weight
  std::int64_t rows = 1;           ///< of the tile
  double vectors = 1;              ///< of columns of the tile
  std::int64_t measured_rows = 1;  ///< of the layer when it was measured
  double seconds = 0;              ///< of the layer with that many rows
};

/// Which register tile computes a dense layer with each size of a range.
struct BlockRule {
  std::vector<std::size_t> tiles;    ///< positions of the chosen ones, the most useful first
  std::vector<std::uint8_t> choice;  ///< by size - 1: position in `tiles`
  /// Parallel to `tiles`: share of the predicted time that the tile saves in addition to those
  /// before it; 0 for the first.
  std::vector<double> gains;
};

/// Largest number of tiles of a layer in one library.
inline constexpr std::size_t kMaxTiles = 4;

/// Returns the relative time of `rows` rows in blocks that share `entries` entries evenly. A block
/// of few rows waits for its sums or for loads instead of computing products.
double BlockCost(const TileTime& tile, std::int64_t entries, std::int64_t rows_of_entry);

/// Chooses tiles of one packed form, and a tile for each size, by predicted time. The prediction
/// takes the time for each unit of BlockCost from the measurements of this form, linear in the
/// logarithm of the rows between two of them. No form is assumed to be faster than the fastest at a
/// number of rows where only others were measured.
///
/// With counts (SizeRange::counts), the sum of the times of all runs is minimized. Without, the
/// mean of the logarithm of the time, in which each factor of two in size has the same weight.
/// A further tile is taken if it saves at least half a percent.
///
/// tiles: at least one; each has at least rows_of_entry rows. Deterministic.
BlockRule ChooseTiles(std::span<const TileTime> tiles, const SizeRange& range,
                      std::int64_t rows_of_entry);

}  // namespace tilewright
