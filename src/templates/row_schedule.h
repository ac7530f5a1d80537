#pragma once

#include <optional>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// A computation that goes row by row of its result (softmax, normalization over the last axis, and
/// what is elementwise around them) as one loop over rows, which threads share: every stage is
/// computed in it, into a buffer of one row, with vectors along the row. Sums and maxima of a row
/// are made in as many parts as a vector has lanes. Takes a schedule without any decision yet;
/// nothing if the computation is none such.
std::optional<Schedule> RowSchedule(Schedule schedule, std::int64_t lanes, const Target& target);

}  // namespace tilewright
