#pragma once

#include "src/schedule/schedule.h"

namespace tilewright {

/// FixedSchedule's loops for CUDA: each stage that is not inlined a launch, a thread for each of
/// its elements. reduction: the one stage whose sums the result finishes in registers; index -1:
/// none.
void ScheduleFixedForCuda(Schedule& schedule, StageId reduction);

}  // namespace tilewright
