#pragma once

#include "src/schedule/schedule.h"

namespace tilewright {

/// Returns true if `stage` is computed, directly or through other stages, inside leaf `position` of
/// `consumer` or further in.
bool ComputedInside(const Schedule& schedule, StageId stage, StageId consumer,
                    std::size_t position);

/// Returns true if an argmin or argmax reads the stage and its values are computed by float
/// arithmetic. Both the reduction and the search for its result must then read the stored values.
/// Code that computes a value twice may round it differently, and the search would not find it.
bool FeedsArgReduction(const Schedule& schedule, StageId stage);

/// Returns true if a loop is bound to threads or blocks of a GPU.
bool IsBound(const Schedule& schedule);

/// Returns true if the stage loads from the buffer.
bool Reads(const Schedule::StageInfo& stage, const Buffer& buffer);

/// Returns the position of a loop among the leaves of a stage, or -1.
int LeafPosition(const Schedule::StageInfo& stage, LoopId loop);

/// Checks rules that depend on all primitives: attach points are still loops, every reader of a
/// stage runs where it is computed, vectorized loops are innermost.
/// Errors: the first error of the schedule; kInvalidArgument with the reason.
Status CheckSchedule(const Schedule& schedule);

}  // namespace tilewright
