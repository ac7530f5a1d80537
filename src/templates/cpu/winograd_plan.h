#pragma once

#include <cstdint>
#include <vector>

#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// What follows from workload and target alone for Winograd's convolution on a CPU.
struct WinogradPlan {
  ConvShape shape;
  std::int64_t lanes = 0;      ///< channels of a block: float32 or int32 elements of a vector
  std::int64_t registers = 0;  ///< of vectors, those apart that products take
  std::int64_t oc_blocks = 0;  ///< blocks of output channels
  std::int64_t ic_step = 0;    ///< input channels that are summed without a look at a block's end
  int threads = 1;
  bool masks = false;      ///< of vectors
  bool whole = false;      ///< 8-bit integers, transformed to int16
  double sum_cost = 1;     ///< multiply-adds that one input channel of a vector of sums takes
  double direct_cost = 1;  ///< the same of the direct convolution
  bool pairs = false;      ///< which multiplies pairs of bytes: AVX2 and narrow weights
};

/// whole: of 8-bit integers. Errors: no convolution, an unknown CPU.
Result<WinogradPlan> MakeWinogradPlan(const Workload& workload, const Target& target, bool whole);

/// Rows and columns of the tiles there are, largest first; the last ones of a result may be cut.
std::vector<std::int64_t> TileSizes(const WinogradPlan& plan);
/// Tiles that runs are made of: of a row, or of all images.
std::int64_t TilesOf(const WinogradPlan& plan, std::int64_t m, bool by_rows);
/// Products of one run of tiles, which stay in local memory.
std::int64_t LocalBytes(const WinogradPlan& plan, std::int64_t m, std::int64_t blocks,
                        std::int64_t run);
/// Transformed data of all channels, of one row of tiles.
std::int64_t RowBytes(const WinogradPlan& plan, std::int64_t m);
constexpr std::int64_t kMaxRowBytes = std::int64_t{1} << 20;  ///< a near cache, with room for more

/// Whether the transformed weights lie beyond the caches near a core.
bool WeightsExceedCache(const WinogradPlan& plan, std::int64_t m);

/// About how many cycles it takes one core to compute so many vectors of sums of all positions (a
/// vector for each tile and block of output channels) and to read all weights so many times.
double CyclesOfRuns(const WinogradPlan& plan, std::int64_t m, double sums, std::int64_t reads);

/// Whether the default config transforms data by rows. Weights are read again for each row then,
/// and rows are what threads share. Of few rows, weights that no near cache keeps are read once
/// instead, for runs of tiles of all rows.
bool ByRows(const WinogradPlan& plan, std::int64_t m);
/// The tile of fewest cycles, of those whose error is near the direct convolution's.
std::int64_t CheapestTile(const WinogradPlan& plan);
/// Whether tiles of the cheapest size take clearly fewer cycles than the direct convolution.
bool IsClearlyCheaper(const WinogradPlan& plan);

}  // namespace tilewright
