#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/epilogue_writer.h"
#include "src/vta/packed_conv2d.h"
#include "src/vta/tile_gemm.h"

namespace tilewright::vta {

/// How our own generator computes a packed convolution.
///
/// Tiles need not divide their axes: the last one has what is left. A block of data or weights that
/// is still on the chip is not loaded again, so many slots make an operand resident, and two are
/// double buffering. Padding is neither loaded nor multiplied.
struct OwnConv2dPlan {
  std::int64_t h = 1, w = 1, ci = 1, co = 1;  ///< extents of a tile
  /// Blocks of data (ci x rows x columns), of weights (co x ci x kernel), and tiles of accumulators
  /// (co x h x w) that are on the chip at a time.
  std::int64_t inp_slots = 1, wgt_slots = 1, acc_slots = 1;
  /// Loop order: all positions of one tile of channels, or all channels of one position.
  bool channels_outer = false;
  /// Every other pass over input channels, and over the inner loop of tiles, goes backwards.
  bool serpentine = false;
  /// int8 tensors are added by multiplying them with the identity, instead of through the
  /// accumulator. For one more weight tile, that needs neither accumulators nor an ALU that widens.
  bool gemm_adds = false;
  UnrolledLoop unrolled = UnrolledLoop::kRows;
  friend bool operator==(const OwnConv2dPlan&, const OwnConv2dPlan&) = default;
};

/// Entries that a plan takes of each memory.
PackedConv2dFootprint OwnFootprint(const PackedConv2d& conv, const OwnConv2dPlan& plan,
                                   const std::vector<EpilogueStep>& epilogue);

/// Whether a plan can be built, but for its micro-ops, which BuildOwnConv2d counts.
/// Errors: kInvalidArgument with the reason.
Status CheckOwnConv2d(const Design& design, const PackedConv2d& conv, const OwnConv2dPlan& plan,
                      const std::vector<EpilogueStep>& epilogue);

/// The stream of a plan. It leaves no token behind.
///
/// Its buffers are those of BuildPackedConv2d; with OwnConv2dPlan::gemm_adds one more follows,
/// "identity", that holds IdentityTile.
/// Errors: kInvalidArgument with the reason why the plan is not legal.
Result<Stream> BuildOwnConv2d(const Design& design, const PackedConv2d& conv,
                              const OwnConv2dPlan& plan, const std::vector<EpilogueStep>& epilogue);

/// The weight tile that multiplies with one, as it lies in DRAM.
std::vector<std::byte> IdentityTile(const Design& design);

}  // namespace tilewright::vta
