#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "src/templates/stages.h"

namespace tilewright {

// Matrix products in register tiles: parts of the templates with packed columns.

/// Register tile: rows, and blocks of columns (a vector each).
using MatmulTile = std::vector<std::int64_t>;

/// Registers that no tile uses: for a value of the data and a product.
inline constexpr std::int64_t kTileReserve = 2;
/// Returns the tiles whose sums and factors fit the registers. blocks: vectors of columns of the
/// result.
std::vector<MatmulTile> MatmulTiles(std::int64_t rows, std::int64_t blocks, std::int64_t registers);
/// Returns the tile with the most sums that leaves a quarter of the registers free, since one row
/// has little else to hide latencies. max_rows: limit for a tile.
MatmulTile DefaultMatmulTile(std::int64_t rows, std::int64_t blocks, std::int64_t registers,
                             std::int64_t max_rows = std::numeric_limits<std::int64_t>::max());

/// Loops around the tiles of a result, not fused.
struct MatmulLoops {
  LoopId batch;  ///< index -1 if there is no batch
  LoopId group;  ///< over groups of as many columns as a tile has
  LoopId rows;   ///< over groups of as many rows; the loops of the tile are inside
};
/// Tiles the result [M, N], or [B, M, N] if `batched`; the loops are in the order of MatmulLoops.
MatmulLoops TileMatmulResult(Schedule& schedule, StageId result, bool batched,
                             const MatmulTile& tile, std::int64_t lanes);
/// Schedules the sums of a tile, which are computed in it already. dot: intrinsic of the innermost
/// reduction; empty for plain products.
void TileMatmulSum(Schedule& schedule, StageId sum, bool batched, std::int64_t lanes,
                   std::int64_t k_unroll, const std::string& dot);

/// Makes the sum of products, a stage with three axes whose second factor is weight[b, n, k], read
/// columns[b, k, n], a new stage of this name before it.
void TransposeColumns(Compute& compute, std::string_view sum, std::string name);
/// Schedules those columns inside a loop, as vectors; the back end transposes rows if the weight
/// has rows in memory. Depending on their size, the columns are local or in memory.
void ScheduleColumns(Schedule& schedule, StageId columns, StageId consumer, LoopId at,
                     std::int64_t lanes);

}  // namespace tilewright
