#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/compile.h"
#include "src/graph/ir/graph.h"

namespace tilewright::session {

/// Operators of a compiled model that have the config of an imported record of one target.
struct ImportedOrigin {
  std::string target;                  ///< of the records, as written
  std::vector<std::string> templates;  ///< of the configs, each once
  std::int64_t operators = 0;
  /// Difference of the target's processor from that of the library; empty if they are equal.
  std::string recorded_cpu, asked_cpu;
};
/// Returns the origins of the model's imported configs, the one with most operators first.
/// asked: target of the compilation.
std::vector<ImportedOrigin> OriginsOf(const CompiledModel& model, const Target& asked);
/// Returns one line for each origin.
std::string OriginsText(const std::vector<ImportedOrigin>& origins);

/// Times of one run of a library with imported configs, and of the same network with default
/// configs. Seconds; the least of several alternating runs.
struct ImportedTimes {
  double imported_seconds = 0, default_seconds = 0;
  int rounds = 0;
};
/// Compiles the graph with default configs and runs both libraries on this machine.
/// Errors: those of Compile and of a run.
Result<ImportedTimes> TimeWithDefaults(const Graph& graph, const CompileOptions& options,
                                       const std::string& library_path);
/// Returns the times as a note; as a warning if the default configs are faster.
std::string ImportedTimesText(const ImportedTimes& times);

}  // namespace tilewright::session
