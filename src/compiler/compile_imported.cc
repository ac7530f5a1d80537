// Trial of configs from other programs' records before a library gets its name.
//
// A schedule cannot change the result of its operator, so a difference would be a bug of this
// compiler that its own trials have not met. All operators are compared in one run. The record of
// the first one that differs is refused, until none differs.

#include <algorithm>
#include <optional>

#include "src/base/json.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/emit/unverified_library.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

/// Result of comparing a library with the reference.
struct Verdict {
  std::optional<std::size_t> bad;  ///< the first wrong operator
  std::string summary;
  std::int64_t operators = 0, elements = 0;  ///< compared
};

Result<Json> RunAndCompare(const Graph& graph, const std::string& library_path,
                           CheckProgress& progress) {
  const auto report = VerifyFile(graph, library_path, 0, progress);
  if (!report.ok()) {
    return report.status().WithContext("verifying the configs of imported records");
  }
  Json verdict = {{"summary", report->Summary()},
                  {"operators", report->checks.size()},
                  {"elements", report->elements}};
  if (!report->ok()) verdict["bad"] = *report->first_bad;
  return verdict;
}

/// Compares in a subprocess, which may crash or not end. On a GPU, whose driver does not support
/// forked processes, compares in this process.
Result<Verdict> Judge(const Graph& graph, const CompiledModel& model, const std::string& path,
                      const CompileOptions& options) {
  const auto run = [&](CheckProgress& progress) { return RunAndCompare(graph, path, progress); };
  CheckProcessResult answer;
  if (DeviceTraitsOf(options.target).launches_grids) {
    CheckProgress progress;
    TW_ASSIGN_OR_RETURN(auto said, run(progress));
    answer.json = DumpJson(said);
  } else {
    answer = RunCheckProcess(run, model.operators, options.check_operator_seconds);
  }
  if (answer.broken) return Verdict{answer.broken, answer.status.message()};
  TW_RETURN_IF_ERROR(answer.status);
  TW_ASSIGN_OR_RETURN(const auto json, ParseJson(answer.json));
  Verdict verdict{std::nullopt, json.at("summary").get<std::string>(),
                  json.at("operators").get<std::int64_t>(),
                  json.at("elements").get<std::int64_t>()};
  if (json.contains("bad")) verdict.bad = json.at("bad").get<std::size_t>();
  return verdict;
}

/// Refuses the record of the first wrong operator. Returns false if none is wrong.
/// Errors: kInternal if it has no imported config.
Result<bool> RefuseFirstBad(const CompiledModel& model, const Verdict& verdict,
                            CompileOptions& options) {
  if (!verdict.bad) return false;
  const OperatorReport& bad = model.operators[*verdict.bad];
  if (!bad.imported) return Internal(verdict.summary);
  options.refused_imports.emplace(bad.workload_key, verdict.summary);
  return true;
}

}  // namespace

Result<CompiledModel> CompileImported(const Graph& graph, const CompileOptions& given,
                                      const std::string& library_path) {
  CompileOptions options = given;
  options.check = CheckLevel::kNone;  // the comparison below covers more
  UnverifiedLibrary place(library_path, given.parameter_path);
  TW_RETURN_IF_ERROR(place.MakeFolder());
  options.parameter_path = place.parameter_path();
  const auto attempt = [&]() -> Result<CompiledModel> {
    while (true) {
      TW_ASSIGN_OR_RETURN(auto model, Compile(graph.Clone(), options, place.path()));
      model.library_path = library_path;
      const bool imported = std::ranges::any_of(model.operators, &OperatorReport::imported);
      if (!imported && given.check == CheckLevel::kNone) return model;
      auto verdict = Judge(graph, model, place.path(), options);
      if (!verdict.ok() && !imported && verdict.status().code() == StatusCode::kUnsupported) {
        model.check.not_run = verdict.status().message();
        return model;
      }
      TW_RETURN_IF_ERROR(verdict);
      TW_ASSIGN_OR_RETURN(auto again, RefuseFirstBad(model, *verdict, options));
      if (again) continue;
      for (OperatorReport& op : model.operators) op.verified = op.imported;
      model.check.ran = true;
      model.check.operators = model.check.compared = verdict->operators;
      model.check.elements = verdict->elements;
      return model;
    }
  };
  TW_ASSIGN_OR_RETURN(auto model, attempt());
  TW_RETURN_IF_ERROR(place.Finish());
  return model;
}

}  // namespace tilewright
