#pragma once

#include <array>

#include "src/schedule/schedule.h"
#include "src/space/config.h"
#include "src/templates/registry.h"
#include "src/tensor/workload.h"

namespace tilewright {

// Parts that AutoTVM's convolutions in blocks of the result share: those for Arm CPUs and for Mali.

/// Knobs that cut the result, whose last factors are rows, columns and channels of a block.
inline constexpr std::array kBlockKnobs = {"tile_oh", "tile_ow", "tile_co"};

/// Documentation of the knobs after those.
inline constexpr KnobDoc kBlockOrderDoc = {
    "reorder_0",
    "Order of the loops. The last three are rows, columns and channels of a block, or channels,"
    " rows and columns."};
inline constexpr KnobDoc kBlockTapsDoc = {
    "ann_reduce", "Loops over kernel rows and columns: `unroll`, or `none`."};
inline constexpr KnobDoc kBlockLoopsDoc = {
    "ann_spatial",
    "Loops over rows, columns and channels of a block: `unroll`, `vec`, or `none`, which unrolls"
    " them only if the sums of a block fit in registers. The loop with `vec` is innermost."};

/// Returns the space: each axis of the result is cut in `parts` parts.
Result<ConfigSpace> SpatialPackSpace(const Workload& workload, int parts);
/// Returns the value of reorder_0 that keeps the order of the loops.
KnobValue PlainBlockOrder();
/// Returns the layouts of a kernel with the blocks of a config.
KernelLayouts SpatialPackLayouts(const Workload& workload, const Config& config);
/// Orders and annotates the loops that compute the sums of one block (SpatialPackStages), which are
/// computed in a loop of their reader.
void ScheduleBlockSums(Schedule& schedule, StageId sums, const Config& config);

}  // namespace tilewright
