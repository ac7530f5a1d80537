#pragma once

#include <cstdint>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// Choices of FlatSchedule. The defaults are those of FixedSchedule.
struct FlatChoices {
  std::int64_t lanes = 0;   ///< of a vector; 0: the floats of a vector register of the target
  std::int64_t tile = 4;    ///< vectors of sums in registers at the same time
  std::int64_t unroll = 3;  ///< unrolls reduction loops of at most this many iterations
  bool rows = true;         ///< computes row by row if possible (row_schedule.h)
  bool across = true;       ///< transposes blocks of rows in registers
  std::int64_t repeat = 1;  ///< vectors that are unrolled in a stage without reduction
};

/// Schedules a computation for a CPU in the way of FixedSchedule, with these choices.
Result<Schedule> FlatSchedule(Compute compute, const Target& target, const FlatChoices& choices);

}  // namespace tilewright
