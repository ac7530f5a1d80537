#pragma once

#include "src/schedule/lower/lower.h"
#include "src/target/target.h"

namespace tilewright {

/// What Lower may let a target's kernels ask for: on a GPU the shared memory that its compute
/// capability gives a block.
LowerLimits LowerLimitsFor(const Target& target);

}  // namespace tilewright
