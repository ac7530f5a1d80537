#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/kernels/epilogue_writer.h"
#include "src/vta/kernels/packed_conv2d.h"
#include "src/vta/kernels/tile_gemm.h"

namespace tilewright::vta {

/// Plan of Tilewright's generator for a packed convolution.
///
/// Tiles need not divide their axes: the last one has the rest. A block of data or weights that is
/// still on the chip is not loaded again, so many slots make an operand resident, and two slots are
/// double buffering. Padding is neither loaded nor multiplied.
struct SlotConv2dPlan {
  std::int64_t h = 1, w = 1, ci = 1, co = 1;  ///< extents of a tile
  /// Numbers of blocks on the chip at the same time: of data (ci x rows x columns), of weights (co
  /// x ci x kernel), and of accumulator tiles (co x h x w).
  std::int64_t inp_slots = 1, wgt_slots = 1, acc_slots = 1;
  /// Loop order: all positions for one tile of channels, or all channels for one position.
  bool channels_outer = false;
  /// Every other pass over input channels, and over the inner loop of tiles, runs backwards.
  bool serpentine = false;
  /// int8 tensors are added by a multiplication with the identity instead of through the
  /// accumulator. This needs one more weight tile, but neither accumulators nor an ALU that widens.
  bool gemm_adds = false;
  UnrolledLoop unrolled = UnrolledLoop::kRows;
  friend bool operator==(const SlotConv2dPlan&, const SlotConv2dPlan&) = default;
};

/// Numbers of slices of the input channels, of positions (rows and columns of the whole batch) and
/// of tiles of output channels in a plan.
/// plan: tiles of at least 1.
struct SlotConv2dCounts {
  std::int64_t slices, positions, channels;
  SlotConv2dCounts(const PackedConv2d& conv, const SlotConv2dPlan& plan);
};

/// Returns the entries of each memory that a plan needs.
PackedFootprint SlotFootprint(const PackedConv2d& conv, const SlotConv2dPlan& plan,
                              const std::vector<EpilogueStep>& epilogue);

/// Replaces slot counts of 0 for data and weights by as many as fit, or as there are blocks; by one
/// if none fits. Leaves a plan with invalid tiles unchanged.
SlotConv2dPlan FillSlots(const Design& design, const PackedConv2d& conv, const SlotConv2dPlan& plan,
                         const std::vector<EpilogueStep>& epilogue);

/// Checks that a plan can be built, except for its number of micro-ops, which BuildSlotConv2d
/// checks.
/// Errors: kInvalidArgument with the reason.
Status CheckSlotConv2d(const Design& design, const PackedConv2d& conv, const SlotConv2dPlan& plan,
                       const std::vector<EpilogueStep>& epilogue);

/// Builds the stream of a plan. No token remains at the end.
///
/// Its buffers are those of BuildPackedConv2d; with SlotConv2dPlan::gemm_adds a constant follows.
/// Errors: kInvalidArgument with the reason why the plan is not legal.
Result<Stream> BuildSlotConv2d(const Design& design, const PackedConv2d& conv,
                               const SlotConv2dPlan& plan,
                               const std::vector<EpilogueStep>& epilogue);

}  // namespace tilewright::vta
