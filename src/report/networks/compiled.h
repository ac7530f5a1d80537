#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/session/notes.h"

// A compiled network: what was compiled, its check, and the times of its operators.

namespace tilewright::report {

/// Returns seed and number of synthetic constants; null for none.
nlohmann::ordered_json SyntheticConstantsJson(std::int64_t constants);

/// Returns the library with all operators, without its check.
nlohmann::ordered_json CompiledJson(const CompiledModel& model);
/// level: name of the check's level ("sample").
nlohmann::ordered_json CompileCheckJson(const CompileCheck& check, const std::string& level);
/// Returns sizes, times, layouts and check, as lines. output: path of the library or bundle.
std::string CompiledText(const CompiledModel& model, const std::string& output);
/// Passes notes on operators that the check did not compare or prove; CompileCheckJson has the
/// complete lists.
void NoteUnchecked(const CompileCheck& check, const session::NoteSink& note);

/// Returns the times of all operators and of whole runs. model: name of the network.
nlohmann::ordered_json BenchJson(const std::string& model, const BenchReport& report,
                                 std::int64_t synthetic_constants);
/// Returns the same as a table and sums. columns: maximum width of the table; 0: no limit.
std::string BenchText(const std::string& model, bool on_gpu, const BenchReport& report,
                      int columns);

}  // namespace tilewright::report
