#pragma once

#include <cstdint>
#include <vector>

#include "src/vta/kernels/slot_conv2d.h"
#include "src/vta/simulator/cycle_model.h"

namespace tilewright::vta {

/// Rows are consecutive in DRAM; columns cut into many pieces only make more and shorter transfers.
inline constexpr std::int64_t kMaxColumnParts = 4;

/// ceil(extent / n) for every n up to max_parts: each number of parts once, with the smallest tile
/// for it.
std::vector<std::int64_t> EvenTiles(std::int64_t extent, std::int64_t max_parts);

/// The plans of a convolution that are worth a look and pass CheckSlotConv2d, in a fixed order.
///
/// Tiles are what an axis gives when it is cut into some number of parts as equal as can be. Slots
/// are few, or as many as there is room for. Plans that differ in nothing are there once.
std::vector<SlotConv2dPlan> SlotConv2dPlans(const Design& design, const PackedConv2d& conv,
                                            const std::vector<EpilogueStep>& epilogue);

/// What a plan cannot do without.
struct SlotConv2dBound {
  double cycles = 0;
  std::int64_t dram_bytes = 0;
  std::int64_t uops = 0;  ///< above Design::UsableUops the plan is not legal
};
/// Without building the stream, and without a shared bus.
/// plan: one that passes CheckSlotConv2d.
SlotConv2dBound LowerBound(const Design& design, const PackedConv2d& conv,
                           const SlotConv2dPlan& plan, const std::vector<EpilogueStep>& epilogue,
                           const CycleModel& model);

}  // namespace tilewright::vta
