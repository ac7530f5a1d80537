#pragma once

#include <string>

#include "src/compiler/compile.h"

namespace tilewright {

/// Compiles into a folder (created if missing): NAME.so without constants, NAME.params with the
/// constants, NAME.h, and graph.json, which describes them (docs/deploy.md). NAME is options.name
/// or the graph's. With options.autotvm, compiles as CompileImported. Errors: those of Compile and
/// CompileImported; kUnavailable if the folder cannot be created.
Result<CompiledModel> CompileBundle(Graph graph, CompileOptions options, const std::string& folder);

}  // namespace tilewright
