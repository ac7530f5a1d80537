#pragma once

#include <cstdint>
#include <vector>

#include "src/vta/kernels/slot_conv2d.h"
#include "src/vta/simulator/cycle_model.h"

namespace tilewright::vta {

/// Rows are consecutive in DRAM; splitting columns into many pieces only makes more and shorter
/// transfers.
inline constexpr std::int64_t kMaxColumnParts = 4;

/// Returns ceil(extent / n) for every n up to max_parts: each number of parts once, with its
/// smallest tile.
std::vector<std::int64_t> EvenTiles(std::int64_t extent, std::int64_t max_parts);

/// Returns the candidate plans of a convolution that pass CheckSlotConv2d, in a fixed order.
///
/// Tiles come from splitting an axis into some number of parts as evenly as possible. Slots are
/// few, or as many as fit. Equivalent plans are listed once.
std::vector<SlotConv2dPlan> SlotConv2dPlans(const Design& design, const PackedConv2d& conv,
                                            const std::vector<EpilogueStep>& epilogue);

/// Lower bounds of a plan.
struct SlotConv2dBound {
  double cycles = 0;
  std::int64_t dram_bytes = 0;
  std::int64_t uops = 0;  ///< above Design::UsableUops the plan is not legal
};
/// Computes the bounds without building the stream, and without a shared bus.
/// plan: one that passes CheckSlotConv2d.
SlotConv2dBound LowerBound(const Design& design, const PackedConv2d& conv,
                           const SlotConv2dPlan& plan, const std::vector<EpilogueStep>& epilogue,
                           const CycleModel& model);

}  // namespace tilewright::vta
