#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/vta/kernels/packed_conv2d_transpose.h"
#include "src/vta/kernels/packed_dense.h"
#include "src/vta/kernels/slot_conv2d.h"
#include "src/vta/simulator/simulator.h"
#include "tests/vta/vta_test_data.h"

namespace tilewright::vta {

/// Position of a tile in a result.
struct ResultTile {
  std::int64_t batch = 0, co = 0, y = 0, x = 0;
};

/// Definition of an operator on packed tensors, in tiles: plain loops that share nothing with the
/// code under test.
struct PlainLoops {
  std::int64_t data_tiles = 1, kernel_tiles = 1;
  std::int64_t batch = 1, co = 1, height = 1, width = 1;  // of the result
  std::int64_t terms = 1;  // approximate number of tile products per result
  /// Calls `add` with the data tile and the kernel tile of each product.
  using Add = std::function<void(std::int64_t data, std::int64_t kernel)>;
  std::function<void(const ResultTile& tile, const Add& add)> products;
};
PlainLoops LoopsOf(const PackedConv2d& conv);
PlainLoops LoopsOf(const PackedConv2dTranspose& conv);
PlainLoops LoopsOf(const PackedDense& dense);

/// An operator with synthetic tensors, scalar by scalar in memory order.
struct ConvCase {
  Design design = Design::Default();
  PlainLoops loops;
  std::vector<EpilogueStep> epilogue;
  std::vector<std::int8_t> data, kernel;
  std::vector<std::vector<std::int32_t>> operands;  // operands of the steps that have one
};

/// Returns a case with random contents. int8 operands are stored as int32 and narrowed when placed.
ConvCase RandomCase(const Design& design, const PlainLoops& loops,
                    const std::vector<EpilogueStep>& epilogue, std::uint64_t seed);
inline ConvCase RandomCase(const Design& design, const PackedConv2d& conv,
                           const std::vector<EpilogueStep>& epilogue, std::uint64_t seed) {
  return RandomCase(design, LoopsOf(conv), epilogue, seed);
}

/// Computes the result by plain loops.
std::vector<std::int8_t> Expected(const ConvCase& test);

/// Function that changes instructions with bound addresses.
using Tamper = std::function<void(std::vector<Instruction>&)>;

struct ConvRun {
  RunResult result;
  std::vector<std::int8_t> output;
};
/// Places the tensors of `test` and runs `stream` after `tamper` has changed its bound
/// instructions.
ConvRun RunCase(const ConvCase& test, const Stream& stream, const RunOptions& options = {},
                const Tamper& tamper = nullptr);

/// Returns bias, rounding constant, shift and clip: the steps that requantization compiles to.
std::vector<EpilogueStep> Requantize(bool bias, bool relu, int shift);

/// Returns a uniform random number in [low, high].
std::int64_t Between(Random& random, std::int64_t low, std::int64_t high);

/// Return small operators, their possible epilogues, and tilings of them that need not be legal.
PackedConv2d RandomConv(Random& random);
PackedConv2d RandomGroupConv(Random& random);
PackedConv2dTranspose RandomTranspose(Random& random);
PackedDense RandomDense(Random& random);
std::vector<EpilogueStep> RandomEpilogue(Random& random, const PlainLoops& loops, int block);
inline std::vector<EpilogueStep> RandomEpilogue(Random& random, const PackedConv2d& conv,
                                                int block) {
  return RandomEpilogue(random, LoopsOf(conv), block);
}
SlotConv2dPlan RandomPlan(Random& random, const PackedConv2d& conv);
std::int64_t RandomDivisor(Random& random, std::int64_t extent);
/// Returns a random tiling of a result of these sizes, with `ci` summed blocks of channels.
PackedConv2dTiles RandomTiles(Random& random, const PlainLoops& loops, std::int64_t ci);
PackedDenseTiles RandomTiles(Random& random, const PackedDense& dense);

}  // namespace tilewright::vta
