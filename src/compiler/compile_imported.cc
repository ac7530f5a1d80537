// Configs of other programs' records: tried out before anybody gets them.
//
// A schedule cannot mean something else than its operator, so a difference would be a bug of ours
// that no trial of ours has met. All operators are compared in one run, and the first that differs
// is refused until none does.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/emit/unverified_library.h"
#include "src/tensor/made_up.h"

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
  options.check = CheckLevel::kNone;  // what is compared below is more
  UnverifiedLibrary place(library_path, given.parameter_path);
  TW_RETURN_IF_ERROR(place.MakeFolder());
  options.parameter_path = place.parameter_path();
  const auto attempt = [&]() -> Result<CompiledModel> {
    while (true) {
      auto model = Compile(graph.CloneWithout(std::numeric_limits<std::int64_t>::max()), options,
                           place.path());
      TW_RETURN_IF_ERROR(model);
      model->library_path = library_path;
      const bool imported = std::ranges::any_of(model->operators, &OperatorReport::imported);
      if (!imported && given.check == CheckLevel::kNone) return model;
      auto report = RunAndCompare(graph, place.path());
      if (!report.ok() && !imported && report.status().code() == StatusCode::kUnsupported) {
        model->check.not_run = report.status().message();
        return model;
      }
      TW_RETURN_IF_ERROR(report);
      auto again = RefuseFirstBad(*model, *report, options);
      TW_RETURN_IF_ERROR(again);
      if (*again) continue;
      for (OperatorReport& op : model->operators) op.verified = op.imported;
      model->check.ran = true;
      model->check.operators = model->check.compared =
          static_cast<std::int64_t>(report->checks.size());
      return model;
    }
  };
  auto model = attempt();
  TW_RETURN_IF_ERROR(model);
  TW_RETURN_IF_ERROR(place.Finish());
  return model;
}

}  // namespace tilewright
