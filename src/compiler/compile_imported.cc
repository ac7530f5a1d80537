// Configs of other programs' records: tried out before anybody gets them.
//
// A schedule cannot mean something else than its operator, so a difference would be a bug of ours
// that no trial of ours has met. All operators are compared in one run, and the first that differs
// is refused until none does.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>

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
  const std::string unverified = library_path + ".unverified";
  const bool bundle = !given.parameter_path.empty();
  if (bundle) options.parameter_path = unverified + ".params";
  const auto attempt = [&]() -> Result<CompiledModel> {
    while (true) {
      auto model = Compile(graph.CloneWithout(std::numeric_limits<std::int64_t>::max()), options,
                           unverified);
      TW_RETURN_IF_ERROR(model);
      model->library_path = library_path;
      if (std::ranges::none_of(model->operators, &OperatorReport::imported)) return model;
      auto report = RunAndCompare(graph, unverified);
      TW_RETURN_IF_ERROR(report);
      auto again = RefuseFirstBad(*model, *report, options);
      TW_RETURN_IF_ERROR(again);
      if (*again) continue;
      for (OperatorReport& op : model->operators) op.verified = op.imported;
      return model;
    }
  };
  auto model = attempt();
  if (!model.ok()) {
    (void)std::remove(unverified.c_str());
    if (bundle) (void)std::remove(options.parameter_path.c_str());
    return model;
  }
  const auto move = [](const std::string& from, const std::string& to) {
    return std::rename(from.c_str(), to.c_str()) == 0;
  };
  if ((bundle && !move(options.parameter_path, given.parameter_path)) ||
      !move(unverified, library_path)) {
    return Unavailable(library_path + ": cannot be written");
  }
  return model;
}

}  // namespace tilewright
