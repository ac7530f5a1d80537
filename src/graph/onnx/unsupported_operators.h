#pragma once

#include <set>

#include "src/graph/onnx/import_diagnostics.h"
#include "src/graph/onnx/inline_and_unroll.h"

namespace tilewright {

/// Returns whether a node is unsupported: it has no handler, calls no function and is not replaced
/// by a graph.
bool IsUnsupported(const onnx::NodeProto& node, const LocalFunctions& functions);

/// Adds the unsupported operators of a graph to the diagnostics, including those of called
/// functions and loop bodies. Branches are checked later, when the taken one is known.
///
/// seen: graphs and functions that were already visited.
void AddUnsupported(const onnx::GraphProto& graph, const LocalFunctions& functions,
                    std::set<const void*>& seen, ImportDiagnostics& diagnostics);

}  // namespace tilewright
