#pragma once

#include "src/schedule/lower/lower.h"
#include "src/target/target.h"

namespace tilewright {

/// Limits of Lower for a target: on a GPU with the shared memory that a block of its compute
/// capability can have.
LowerLimits LowerLimitsFor(const Target& target);

}  // namespace tilewright
