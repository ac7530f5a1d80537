#pragma once

#include <string>

#include "src/compiler/plan/plan.h"

namespace tilewright {

/// What a library made of the plan does, for programs and people: inputs and outputs, then the
/// steps in their order with kernel, operator, config and the place of every tensor. Field by
/// field: docs/deploy.md.
std::string GraphJson(const Plan& plan, const CompileOptions& options);

}  // namespace tilewright
