#pragma once

#include <string>

#include "src/compiler/compile.h"

namespace tilewright {

/// Compiles into a folder (made if it is missing): NAME.so without constants, NAME.params with
/// them, NAME.h, and graph.json, which says what is what (docs/deploy.md). NAME is options.name or
/// the graph's. With options.autotvm as CompileImported. Errors: those of Compile and
/// CompileImported; kUnavailable if the folder cannot be made.
Result<CompiledModel> CompileBundle(Graph graph, CompileOptions options, const std::string& folder);

}  // namespace tilewright
