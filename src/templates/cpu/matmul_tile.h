#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "src/templates/stages.h"

namespace tilewright {

// Matrix products in register tiles: what templates with packed columns have in common.

/// A register tile: rows, and blocks of columns (a vector each).
using MatmulTile = std::vector<std::int64_t>;

/// Registers that every tile leaves: for a value of the data and a product.
inline constexpr std::int64_t kTileReserve = 2;
/// Tiles that fit the registers beside what they are multiplied from. `blocks`: vectors that the
/// columns of the result are.
std::vector<MatmulTile> MatmulTiles(std::int64_t rows, std::int64_t blocks, std::int64_t registers);
/// The one with most sums that leaves a quarter of the registers: one row has little else to hide
/// latencies with. max_rows: of a tile.
MatmulTile DefaultMatmulTile(std::int64_t rows, std::int64_t blocks, std::int64_t registers,
                             std::int64_t max_rows = std::numeric_limits<std::int64_t>::max());

/// Loops around the tiles of a result, not fused yet.
struct MatmulLoops {
  LoopId batch;  ///< index -1 without one
  LoopId group;  ///< of as many columns as a tile has
  LoopId rows;   ///< of as many rows; the tile's own loops are inside
};
/// The result [M, N], or [B, M, N] if `batched`, in tiles; loops in the order of MatmulLoops.
MatmulLoops TileMatmulResult(Schedule& schedule, StageId result, bool batched,
                             const MatmulTile& tile, std::int64_t lanes);
/// The sums of a tile, which is where they are computed already. `dot`: the intrinsic of the
/// innermost reduction; empty for plain products.
void TileMatmulSum(Schedule& schedule, StageId sum, bool batched, std::int64_t lanes,
                   std::int64_t k_unroll, const std::string& dot);

/// Has the sum of products, a stage with three axes whose second factor is weight[b, n, k], read a
/// new stage before it, of this name: columns[b, k, n].
void TransposeColumns(Compute& compute, std::string_view sum, std::string name);
/// Those columns, inside a loop: vectors of them, which the back end makes of rows where the weight
/// has those in memory. They lie in a near cache or behind it, as their size has it.
void ScheduleColumns(Schedule& schedule, StageId columns, StageId consumer, LoopId at,
                     std::int64_t lanes);

}  // namespace tilewright
