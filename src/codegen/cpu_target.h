#pragma once

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright {

/// Whether LLVM knows the -mtriple, -mcpu and every feature of the -mattr of an `llvm` target: what
/// it does not know it only prints, once for each kernel, and goes on without.
/// Errors: kUnsupported for the triple, kInvalidArgument for the others.
Status CheckCpuTarget(const Target& target);

}  // namespace tilewright
