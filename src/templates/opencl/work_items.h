#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/target/target.h"
#include "src/templates/registry.h"
#include "src/tensor/workload.h"

namespace tilewright {

// Parts that AutoTVM's templates for Mali share.

/// Returns the reason why AutoTVM's templates for Mali do not serve a target or the types of a
/// workload; empty if they do.
std::string RefusesForMali(const Workload& workload, const Target& target);
/// Returns that reason for convolutions of one group, or for depthwise ones, in NCHW.
std::string RefusesConvForMali(const Workload& workload, const Target& target, bool depthwise);

/// Axis of the result and its three factors: work-groups, work-items of a group, elements of one
/// item.
struct ItemAxis {
  LoopId axis;
  std::vector<std::int64_t> factors;
};
/// Loops of a stage that is cut for work-items.
struct ItemLoops {
  LoopId item;                ///< the innermost loop over work-items
  std::vector<LoopId> inner;  ///< over the elements of one item, in the order of the axes
};
/// Cuts two or three axes, orders the loops and binds those over work-groups and work-items to (z,)
/// y and x. images: a loop that joins those over the groups of the first axis; index -1 for none.
/// Errors: those of CheckBlock (src/templates/cuda/block_tiles.h).
Result<ItemLoops> TileItems(Schedule& schedule, StageId stage, const std::vector<ItemAxis>& axes,
                            LoopId images = {});

/// Returns the split of an extent in work-groups, up to `items` work-items of a group and up to
/// `inner` elements of one item, each the largest divisor.
KnobValue ItemsAndInner(std::int64_t extent, std::int64_t items, std::int64_t inner);

}  // namespace tilewright
