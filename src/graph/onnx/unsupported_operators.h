#pragma once

#include <set>

#include "src/graph/onnx/import_diagnostics.h"
#include "src/graph/onnx/inline_and_unroll.h"

namespace tilewright {

/// Whether nobody knows what a node computes: no handler, no function, no graph in its place.
bool IsUnsupported(const onnx::NodeProto& node, const LocalFunctions& functions);

/// Adds the operators of a graph that are not supported, those of called functions and of the
/// bodies of loops included. Branches are looked at once it is known which one is taken.
///
/// seen: graphs and functions that were looked at, which are not looked at again.
void AddUnsupported(const onnx::GraphProto& graph, const LocalFunctions& functions,
                    std::set<const void*>& seen, ImportDiagnostics& diagnostics);

}  // namespace tilewright
