#pragma once

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright {

/// Checks that LLVM supports the -mtriple, -mcpu and every feature of the -mattr of an `llvm`
/// target. LLVM would only print an unknown one, once for each kernel, and ignore it.
/// Errors: kUnsupported for the triple, kInvalidArgument for the others.
Status CheckCpuTarget(const Target& target);

}  // namespace tilewright
