#pragma once

#include <cstdint>
#include <vector>

#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Properties of Winograd's convolution on a CPU that follow from workload and target.
struct WinogradPlan {
  ConvShape shape;
  std::int64_t lanes = 0;      ///< channels of a block: float32 or int32 elements of a vector
  std::int64_t registers = 0;  ///< vector registers, without those for products
  std::int64_t oc_blocks = 0;  ///< blocks of output channels
  std::int64_t ic_step =
      0;  ///< input channels that are summed without a test for the end of a block
  int threads = 1;
  bool masks = false;      ///< the target masks the lanes of vectors
  bool whole = false;      ///< 8-bit integers, transformed to int16
  double sum_cost = 1;     ///< multiply-adds of one input channel for a vector of sums
  double direct_cost = 1;  ///< the same for the direct convolution
  bool pairs = false;      ///< which multiplies pairs of bytes: AVX2 and reduced-range weights
};

/// whole: for 8-bit integers.
/// Errors: the workload is not a convolution, or the CPU is unknown.
Result<WinogradPlan> MakeWinogradPlan(const Workload& workload, const Target& target, bool whole);

/// Returns possible rows (and columns) of tiles, largest first; the last tiles of a result may be
/// cut.
std::vector<std::int64_t> TileSizes(const WinogradPlan& plan);
/// Number of tiles that are split into runs: those of a row, or of all images.
std::int64_t TilesOf(const WinogradPlan& plan, std::int64_t m, bool by_rows);
/// Bytes of the products of one run of tiles, which stay in local memory.
std::int64_t LocalBytes(const WinogradPlan& plan, std::int64_t m, std::int64_t blocks,
                        std::int64_t run);
/// Bytes of the transformed data of one row of tiles, all channels.
std::int64_t RowBytes(const WinogradPlan& plan, std::int64_t m);
constexpr std::int64_t kMaxRowBytes = std::int64_t{1}
                                      << 20;  ///< a private cache, with room for other data

/// Whether the transformed weights exceed the private caches of a core.
bool WeightsExceedCache(const WinogradPlan& plan, std::int64_t m);

/// Estimated cycles of one core to compute this many vectors of sums for all positions (a vector
/// for each tile and block of output channels) and to read all weights `reads` times.
double CyclesOfRuns(const WinogradPlan& plan, std::int64_t m, double sums, std::int64_t reads);

/// Whether the default config transforms data by rows. Then weights are read again for each row,
/// and threads share rows. If there are few rows and the weights exceed the private caches, weights
/// are read once, for runs of tiles of all rows.
bool ByRows(const WinogradPlan& plan, std::int64_t m);
/// Returns the tile with the fewest cycles, of those whose error is near that of the direct
/// convolution.
std::int64_t CheapestTile(const WinogradPlan& plan);
/// Whether tiles of the cheapest size take clearly fewer cycles than the direct convolution.
bool IsClearlyCheaper(const WinogradPlan& plan);

}  // namespace tilewright
