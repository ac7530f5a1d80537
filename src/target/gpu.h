#pragma once

#include <string>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright {

/// Compute capability of a CUDA target, 75 for 7.5: from -arch=sm_75, or else from its -model; 70
/// where neither is given.
/// Errors: kInvalidArgument for another kind, an -arch that is none, or an unknown -model without
/// -arch; kUnsupported for a device older than 5.0.
Result<int> ComputeCapabilityOf(const Target& target);

}  // namespace tilewright
