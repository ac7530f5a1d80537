#pragma once

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright {

/// Checks the target of a request: its options, the number of its threads, and the processor.
/// Stored and imported targets are not checked, so that they stay readable. Options of TVM that
/// have no effect here are accepted, because targets of logs have them. Errors: kInvalidArgument
/// for an option that neither this program nor TVM has, or a processor that LLVM does not know,
/// with the nearest known one.
Status CheckRequestedTarget(const Target& target);

}  // namespace tilewright
