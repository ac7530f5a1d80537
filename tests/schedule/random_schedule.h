#pragma once

#include "src/base/random.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// A matrix product, something like a softmax, or (half of them) a convolution; small.
Compute RandomCompute(Random* random);

/// Primitives in any order and with any argument, so far as a schedule takes them; Lower refuses
/// some of what comes of it.
void RandomSchedule(Schedule* schedule, Random* random);

}  // namespace tilewright
