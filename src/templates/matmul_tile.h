#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "src/space/config.h"
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

/// Loops of a batched product in tiles.
struct BatchedTiles {
  LoopId outer;  ///< over batches and groups of columns, parallel
  LoopId rows;   ///< over groups of rows; each computes the sums of a tile
};
/// Schedules a batched product by the knobs register_tile and k_unroll. dot: as of TileMatmulSum.
BatchedTiles ScheduleBatchedProduct(Schedule& schedule, const AnchorStages& stages,
                                    const Config& config, const Target& target, std::int64_t lanes,
                                    const std::string& dot);

/// Places a stage, which is computed for each iteration of `at`, in local or other memory,
/// depending on its size.
void PlaceInside(Schedule& schedule, StageId stage, StageId consumer, LoopId at);
/// Returns true if sums of this many products multiply pairs of bfloat16 (dot2.bf16).
bool HasPairs(const DataType& dtype, std::int64_t products);
/// Makes the sum of products, a stage with three axes whose second factor is weight[b, n, k], read
/// columns[b, k, n], a new stage of this name before it; if HasPairs, columns[b, k, n, 2]. Other
/// columns have the type of the sum.
void TransposeColumns(Compute& compute, std::string_view sum, std::string name);
/// Inserts a copy of a buffer before the stage "reduce", which then reads the copy.
void ReadCopied(Compute& compute, const Buffer& buffer, ComputeOp copy);
/// Defines a batch_matmul whose columns are copied by a stage "columns": [b, k, n], of int16 and
/// bfloat16 in pairs [b, k, n, 2], of float16 (and its data) in float32.
Result<Compute> DefineWithCopiedColumns(const Workload& workload, const Epilogue& epilogue);
/// Schedules those columns inside a loop, as vectors; the back end transposes rows if the weight
/// has rows in memory. Depending on their size, the columns are local or in memory.
void ScheduleColumns(Schedule& schedule, StageId columns, StageId consumer, LoopId at,
                     std::int64_t lanes);
/// Schedules columns of a weight in layout BNK4k, whose elements are four bytes each.
void ScheduleColumnsOfBytes(Schedule& s, StageId columns, StageId consumer, LoopId at);

}  // namespace tilewright
