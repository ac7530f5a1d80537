#pragma once

#include "src/base/random.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// Returns a small matrix product, an expression similar to softmax, or (half of them) a
/// convolution.
Compute RandomCompute(Random* random);

/// Applies primitives in random order with random arguments, as far as the schedule accepts them.
/// Lower rejects some of the results.
void RandomSchedule(Schedule* schedule, Random* random);

}  // namespace tilewright
