#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/compiler/options/options.h"
#include "src/graph/ir/graph.h"

namespace tilewright::optimize {

/// Returns a hash of the kernels that a library of the graph would have, in the order of execution,
/// with their layouts. It changes if the record sources choose another config, and if a template
/// makes other loops of one. Builds nothing.
/// Errors: those of MakeCheckedPlan.
Result<std::uint64_t> KernelKeyOf(Graph graph, const CompileOptions& options);

/// Returns the identity of the kernels of a combination and of float32's, as text. Times are ratios
/// to float32's, so they depend on both.
std::string KernelTag(std::uint64_t float32, std::uint64_t combination);

}  // namespace tilewright::optimize
