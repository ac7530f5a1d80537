#pragma once

#include <cstdint>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// What FixedSchedule leaves open. The defaults are what it takes.
struct FlatChoices {
  std::int64_t lanes = 0;   ///< of vectors; 0: as many floats as a register of the target has
  std::int64_t tile = 4;    ///< vectors of a reduction in registers at a time
  std::int64_t unroll = 3;  ///< reduced loops of up to so many steps are written out
  bool rows = true;         ///< row by row where that can be (row_schedule.h)
  bool across = true;       ///< blocks of rows are turned into columns in registers
  std::int64_t repeat = 1;  ///< vectors of a stage without reduction that are written out
};

/// FixedSchedule for a CPU, with these choices.
Result<Schedule> FlatSchedule(Compute compute, const Target& target, const FlatChoices& choices);

}  // namespace tilewright
