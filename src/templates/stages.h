#pragma once

#include <cstdint>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

// Helpers for stages and loops that schedules of several templates share.

/// Stages of an anchor's computation, by their role in a CPU schedule.
struct AnchorStages {
  bool has_pad = false;
  StageId pad;     ///< valid if has_pad
  StageId sum;     ///< the reduction; its output is kLocal (registers)
  StageId result;  ///< writes the kernel's output
};
/// Finds the stages. If there is no epilogue, the sums get a local copy first. Call before any
/// split.
AnchorStages PrepareStages(Schedule& schedule);
/// Returns the stage that writes the kernel's output. Stage "reduce", which only reads sums of
/// other stages, is inlined if there is an epilogue.
StageId InlineIntoResult(Schedule& schedule);

/// Inlines cheap stages without reduction, except the last one, `kept` and those of
/// FeedsArgReduction (src/schedule/check.h). Stages that call functions are inlined only if one
/// stage reads them, element by element.
void InlineElementwise(Schedule& schedule, const std::vector<StageId>& kept = {});
/// Fuses adjacent leaves, outermost first, into one loop.
LoopId FuseAll(Schedule& schedule, StageId stage, const std::vector<LoopId>& loops);
/// Makes the loop parallel if the target has more than one thread.
void ParallelFor(Schedule& schedule, StageId stage, LoopId loop, const Target& target);
/// Returns the innermost axis with more than one element; the innermost axis if there is none.
int InnermostAxis(const ComputeOp& op);
/// Returns the axis along which the data of a stage are contiguous in memory, if it is not the
/// innermost one, along which the vectors of the result are made; the back end then transposes
/// blocks of rows. -1 if there is none.
int AcrossAxis(const ComputeOp& op, std::int64_t lanes);
/// Loops of ScheduleFlat in which other stages can be computed.
struct FlatLoops {
  LoopId innermost;  ///< the innermost loop outside vector and tile; index -1 if there is none
};
/// Schedules a root stage: InnermostAxis vectorized in steps of `lanes`, `tile` iterations unrolled
/// around it, outer loops parallel. across: an axis of which a vector's worth of iterations is
/// unrolled inside all others, or -1.
FlatLoops ScheduleFlat(Schedule& schedule, StageId stage, std::int64_t lanes, const Target& target,
                       std::int64_t tile = 1, int across = -1);

}  // namespace tilewright
