#pragma once

#include <string>

#include "src/compiler/plan.h"

namespace tilewright {

/// LLVM IR of the tables of a planned model (src/runtime/model.h) and of its C functions.
std::string DriverIr(const Graph& graph, const Plan& plan, const CompileOptions& options);

/// Text of the C header of those functions.
std::string DriverHeader(const Graph& graph, const Plan& plan, const CompileOptions& options);

}  // namespace tilewright
