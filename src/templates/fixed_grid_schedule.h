#pragma once

#include "src/schedule/schedule.h"

namespace tilewright {

/// Schedules the loops of FixedSchedule for CUDA: each stage that is not inlined is a launch, with
/// a thread for each element. reduction: the one stage whose sums the result finishes in registers;
/// index -1: none.
void ScheduleFixedGrid(Schedule& schedule, StageId reduction);

}  // namespace tilewright
