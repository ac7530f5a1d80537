#pragma once

#include "src/base/status.h"
#include "src/codegen/code_traits.h"
#include "src/target/target.h"

namespace tilewright {

struct Plan;

/// Checks the tensors, the constants, the working memory and the kernels' workspaces of a plan, of
/// the largest size if one is open. Errors: kUnsupported naming what is beyond the address space of
/// a 32-bit target.
Status CheckSizes(const Plan& plan, const Target& target, const CodeTraits& traits);

}  // namespace tilewright
