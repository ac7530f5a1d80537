#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/kernels/epilogue_writer.h"
#include "src/vta/kernels/packed_conv2d.h"
#include "src/vta/kernels/tile_gemm.h"

namespace tilewright::vta {

/// How our own generator computes a packed convolution.
///
/// Tiles need not divide their axes: the last one has what is left. A block of data or weights that
/// is still on the chip is not loaded again, so many slots make an operand resident, and two are
/// double buffering. Padding is neither loaded nor multiplied.
struct SlotConv2dPlan {
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
  friend bool operator==(const SlotConv2dPlan&, const SlotConv2dPlan&) = default;
};

/// How many slices of the input channels, positions (of rows and columns, in all of the batch) and
/// tiles of output channels a plan has.
/// plan: tiles of at least 1.
struct SlotConv2dCounts {
  std::int64_t slices, positions, channels;
  SlotConv2dCounts(const PackedConv2d& conv, const SlotConv2dPlan& plan);
};

/// Entries that a plan takes of each memory.
PackedFootprint SlotFootprint(const PackedConv2d& conv, const SlotConv2dPlan& plan,
                              const std::vector<EpilogueStep>& epilogue);

/// `plan` with as many slots for data and weights as fit, or as there are blocks, where it says 0,
/// one where none fits. A plan with tiles that make no sense stays as it is.
SlotConv2dPlan FillSlots(const Design& design, const PackedConv2d& conv, const SlotConv2dPlan& plan,
                         const std::vector<EpilogueStep>& epilogue);

/// Whether a plan can be built, but for its micro-ops, which BuildSlotConv2d counts.
/// Errors: kInvalidArgument with the reason.
Status CheckSlotConv2d(const Design& design, const PackedConv2d& conv, const SlotConv2dPlan& plan,
                       const std::vector<EpilogueStep>& epilogue);

/// The stream of a plan. It leaves no token behind.
///
/// Its buffers are those of BuildPackedConv2d; with SlotConv2dPlan::gemm_adds a constant follows.
/// Errors: kInvalidArgument with the reason why the plan is not legal.
Result<Stream> BuildSlotConv2d(const Design& design, const PackedConv2d& conv,
                               const SlotConv2dPlan& plan,
                               const std::vector<EpilogueStep>& epilogue);

}  // namespace tilewright::vta
