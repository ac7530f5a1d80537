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
  int family = 0;                  ///< number of its form and template
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

/// Chooses tiles of one packed form, and a tile for each size, by predicted time. A layer takes the
/// sum of its blocks. The time of a block of a number of rows is that of a tile with as many, from
/// the measurements of the template with this form: with the layer's rows linear in their logarithm
/// between two measured numbers, with the tile's rows by the cycles of the nearest measured tile.
/// No form is assumed to be faster than the fastest at a number of rows where only others were
/// measured. A tile counts as slightly slower far from the rows that it was measured with.
///
/// With counts (SizeRange::counts), the sum of the times of all runs is minimized. Without, the
/// mean of the logarithm of the time, in which each factor of two in size has the same weight.
/// A further tile is taken if it saves at least half a percent.
///
/// tiles: at least one; each has at least rows_of_entry rows. Deterministic.
BlockRule ChooseTiles(std::span<const TileTime> tiles, const SizeRange& range,
                      std::int64_t rows_of_entry);

}  // namespace tilewright
