#pragma once

#include "src/schedule/schedule.h"

namespace tilewright {

/// True if `stage` is computed, directly or through others, inside leaf `position` of `consumer` or
/// further in.
bool ComputedInside(const Schedule& schedule, StageId stage, StageId consumer,
                    std::size_t position);

/// True if the largest or least of the stage's values is looked for among them afterwards (where it
/// is), and they come of arithmetic on floats: both readers have to see what was stored. Code that
/// makes one twice may round it differently, and then it is not found.
bool FeedsArgReduction(const Schedule& schedule, StageId stage);

/// Place of a loop among the leaves of a stage, or -1.
int LeafPosition(const Schedule::StageInfo& stage, LoopId loop);

/// What can be judged only when all primitives were applied: that attach points are still loops,
/// that every reader of a stage finds it computed, that vectorized loops are innermost.
/// Errors: the schedule's own refusal; kInvalidArgument with the reason.
Status CheckSchedule(const Schedule& schedule);

}  // namespace tilewright
