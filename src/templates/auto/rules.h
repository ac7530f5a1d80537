#pragma once

#include <string>

#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright {

// Parts that the templates of this folder share.

/// Empty for expressions on targets with CPU features or a grid; else the reason why the templates
/// do not serve the workload.
std::string RefusesAnyExpression(const Workload& workload, const Target& target);
/// Whether a stage of the expression has a reduction: a sum, an extreme value or its position.
bool HasReduction(const Expression& expression);

}  // namespace tilewright
