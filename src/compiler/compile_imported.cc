// Configs of other programs' records: tried out before anybody gets them.
//
// A schedule cannot mean something else than its operator, so a difference would be a bug of ours
// that no trial of ours has met. All operators are compared in one run, and the first that differs
// is refused until none does.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "src/base/unfinished.h"
#include "src/compiler/compile.h"
#include "src/compiler/verify.h"

namespace tilewright {
namespace {

constexpr int kReferenceThreads = 2;

Result<VerifyReport> RunAndCompare(const Graph& graph, const std::string& library_path) {
  auto library = ModelLibrary::Open(library_path);
  if (!library.ok()) {
    return library.status().WithContext("verifying the configs of imported records");
  }
  std::vector<Tensor> inputs;
  for (const ModelValue& value : library->inputs()) {
    inputs.push_back(MakeInput(value.name, value.type, InputRule::kRandom));
  }
  VerifyOptions options;
  options.threads = kReferenceThreads;
  return Verify(graph.CloneWithout(std::numeric_limits<std::int64_t>::max()), *library, inputs,
                options);
}

/// Refuses the workload of the first operator that differs. False if none does.
/// Errors: kInternal if it has no imported config.
Result<bool> RefuseFirstBad(const CompiledModel& model, const VerifyReport& report,
                            CompileOptions& options) {
  if (report.ok()) return false;
  const std::string& value = report.checks[*report.first_bad].value;
  const auto bad = std::ranges::find(model.operators, value, &OperatorReport::value);
  if (bad == model.operators.end() || !bad->imported) return Internal(report.Summary());
  options.refused_imports.insert(bad->workload_key);
  return true;
}

}  // namespace

Result<CompiledModel> CompileImported(const Graph& graph, const CompileOptions& given,
                                      const std::string& library_path) {
  CompileOptions options = given;
  // In a folder of its own, as the library's own name for itself is that of its file.
  const std::filesystem::path place(library_path);
  const Unfinished folder(library_path + ".unverified");
  std::error_code failed;
  std::filesystem::create_directory(folder.path(), failed);
  if (failed) return Unavailable(folder.path() + ": cannot be made: " + failed.message());
  Unfinished unverified(folder.path() + "/" + place.filename().string());
  const bool bundle = !given.parameter_path.empty();
  Unfinished parameters;
  if (bundle) {  // under its name, where the library looks for it
    const std::filesystem::path wanted(given.parameter_path);
    parameters = Unfinished(folder.path() + "/" + wanted.filename().string());
    options.parameter_path = parameters.path();
  }
  const auto attempt = [&]() -> Result<CompiledModel> {
    while (true) {
      auto model = Compile(graph.CloneWithout(std::numeric_limits<std::int64_t>::max()), options,
                           unverified.path());
      TW_RETURN_IF_ERROR(model);
      model->library_path = library_path;
      if (std::ranges::none_of(model->operators, &OperatorReport::imported)) return model;
      auto report = RunAndCompare(graph, unverified.path());
      TW_RETURN_IF_ERROR(report);
      auto again = RefuseFirstBad(*model, *report, options);
      TW_RETURN_IF_ERROR(again);
      if (*again) continue;
      for (OperatorReport& op : model->operators) op.verified = op.imported;
      return model;
    }
  };
  auto model = attempt();
  TW_RETURN_IF_ERROR(model);
  if (bundle) TW_RETURN_IF_ERROR(parameters.MoveTo(given.parameter_path));
  TW_RETURN_IF_ERROR(unverified.MoveTo(library_path));
  return model;
}

}  // namespace tilewright
