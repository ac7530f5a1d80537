#pragma once

#include <span>
#include <string>

#include "src/compiler/emit/gpu_tables.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {

/// What a library exports beside its tables, for who compares it with another form of the model:
/// QuantizationMapToJson of its values, and an int64, Graph::synthetic_constants.
inline constexpr const char* kQuantizationMapSymbol = "tilewright_meanings";
inline constexpr const char* kSyntheticConstantsSymbol = "tilewright_made_up_constants";

/// LLVM IR of the tables of a planned model (src/runtime/model.h) and of its C functions.
/// features: CodeTraits::features of the code (src/codegen/code_traits.h).
/// gpu: null, or what a model for a GPU has beside that. set: of a library for several sets of
/// sizes, whose symbols end with VariantSuffix(set) (src/runtime/loaded_model.h).
std::string ModelTablesIr(const Plan& plan, const CompileOptions& options,
                          const std::string& features, const GpuTables* gpu, int set = 0);

/// LLVM IR of what chooses among the models of `sets` sets of sizes.
std::string VariantTablesIr(const std::string& name, int variants);

/// Text of the C header of that, behind those of the models.
/// names: of the models. inputs: of each, for comments.
std::string VariantHeader(const std::string& name, std::span<const std::string> models,
                          std::span<const Graph* const> graphs);

/// Text of the C header of those functions.
std::string ModelHeader(const Plan& plan, const CompileOptions& options);

}  // namespace tilewright
