#pragma once

#include <string>

#include "src/compiler/emit/gpu_tables.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Symbols that a library exports in addition to its tables, for comparisons with another form of
/// the model: QuantizationMapToJson of its values, and an int64, Graph::synthetic_constants.
inline constexpr const char* kQuantizationMapSymbol = "tilewright_meanings";
inline constexpr const char* kSyntheticConstantsSymbol = "tilewright_made_up_constants";

/// Returns LLVM IR of the tables of a planned model (src/runtime/model.h) and of its C functions.
/// features: CodeTraits::features of the code (src/codegen/code_traits.h). gpu: additional tables
/// of a GPU's model, or null. set: number of the shape variant, whose symbols end with
/// VariantSuffix(set) (src/runtime/loaded_model.h).
std::string ModelTablesIr(const Plan& plan, const CompileOptions& options,
                          const std::string& features, const GpuTables* gpu, int set = 0);

/// Returns LLVM IR of the functions that choose among the models of `variants` shape variants.
std::string VariantTablesIr(const std::string& name, int variants);

}  // namespace tilewright
