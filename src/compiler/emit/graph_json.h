#pragma once

#include <string>

#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Returns a description of the library of a plan: inputs and outputs, then the steps in order with
/// kernel, operator, config and the place of every tensor. Fields: docs/deploy.md.
std::string GraphJson(const Plan& plan, const CompileOptions& options);

}  // namespace tilewright
