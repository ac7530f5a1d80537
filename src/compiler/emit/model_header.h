#pragma once

#include <span>
#include <string>

#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Returns the C header of a model's functions.
std::string ModelHeader(const Plan& plan, const CompileOptions& options);

/// Returns the C header of the functions that choose among shape variants (VariantTablesIr), which
/// follow the models'. models: their names. graphs: of each model, for comments.
std::string VariantHeader(const std::string& name, std::span<const std::string> models,
                          std::span<const Graph* const> graphs);

}  // namespace tilewright
