#pragma once

#include <cstdint>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

// Stages and loops that schedules of several templates have in common.

/// The stages every anchor's compute has, in the roles a CPU schedule gives them.
struct AnchorStages {
  bool has_pad = false;
  StageId pad;     ///< valid if has_pad
  StageId sum;     ///< the reduction; its output is kLocal (registers)
  StageId result;  ///< writes the kernel's output
};
/// Finds the stages; without an epilogue the sums get a local copy first. Call before any split.
AnchorStages PrepareStages(Schedule& schedule);

/// Computes cheap stages without reduction where they are read, but for the last one, `kept` and
/// those of FeedsArgReduction (src/schedule/check.h); those that call functions only where one
/// stage reads them, element by element.
void InlineElementwise(Schedule& schedule, const std::vector<StageId>& kept = {});
/// Fuses adjacent leaves, outermost first, into one loop.
LoopId FuseAll(Schedule& schedule, StageId stage, const std::vector<LoopId>& loops);
/// Parallel over the loop if the target has more than one thread.
void ParallelFor(Schedule& schedule, StageId stage, LoopId loop, const Target& target);
/// The innermost axis of more than one element (the innermost one if there is none).
int InnermostAxis(const ComputeOp& op);
/// The axis along which the data of a stage lie in memory if that is not the innermost one, which
/// is then the one that vectors of the result are made along: the back end turns blocks of rows
/// into columns. -1 if there is none.
int AcrossAxis(const ComputeOp& op, std::int64_t lanes);
/// What ScheduleFlat leaves for stages that are to be computed inside.
struct FlatLoops {
  LoopId innermost;  ///< the innermost loop outside vector and tile; index -1 if there is none
};
/// A root stage as a whole: InnermostAxis vectorized in steps of `lanes`, around it `tile`
/// iterations unrolled, outer loops parallel. across: an axis of which a vector's worth of
/// iterations is unrolled inside of all others, or -1.
FlatLoops ScheduleFlat(Schedule& schedule, StageId stage, std::int64_t lanes, const Target& target,
                       std::int64_t tile = 1, int across = -1);

}  // namespace tilewright
