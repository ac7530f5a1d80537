#include "src/report/imported_jobs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "records/imported.h"

namespace tilewright::report {
namespace {

struct ImportedJob {
  TaskMap tasks;
  std::set<std::string> files;
  double last = 0;
  std::int64_t trials = 0, ok = 0;
};

/// Returns half the difference between the least and the largest cost, relative to their mean. Logs
/// contain no other noise estimate.
double NoiseOfCosts(const records::ImportedRecord& record) {
  if (record.costs.size() < 2 || !(record.cost > 0)) return 0;
  const auto [least, largest] = std::ranges::minmax(record.costs);
  return (largest - least) / (2 * record.cost);
}

/// Returns the record as a trial. If a template can represent the config, the candidate uses it, so
/// that its code can be shown; otherwise the candidate has the recorded names.
Result<Trial> TrialOfImported(const records::ImportedRecord& record, const Target& target,
                              const GatherOptions& options) {
  TW_ASSIGN_OR_RETURN(auto workload, Workload::Parse(record.workload_key));
  Trial trial;
  trial.candidate.task = {std::move(workload), target};
  trial.candidate.template_key = record.task;
  const auto ours = options.finish
                        ? records::CandidateOfImported(*options.templates, record, target)
                        : Result<Candidate>(Unsupported("not requested"));
  if (ours.ok()) {
    trial.candidate = *ours;
  } else if (auto config = records::ConfigOfImported(record); config.ok()) {
    trial.candidate.config = *std::move(config);
  }
  const bool ok = record.error == 0 && std::isfinite(record.cost) && record.cost > 0;
  trial.outcome = ok ? Outcome::kOk : Outcome::kRunFailed;
  if (!ok) trial.reason = "error " + std::to_string(record.error) + " of AutoTVM";
  trial.value = ok ? record.cost : 0;
  trial.noise = NoiseOfCosts(record);
  trial.samples = record.costs;
  trial.verified = ok;  // as recorded; the document states that it is unverified
  trial.device.model = record.package.empty() ? record.file : record.package;
  trial.finished_unix_seconds = record.finished;
  return trial;
}

JobPage PageOf(const records::Store& store, const std::string& target, const ImportedJob& job) {
  JobPage page;
  page.store = store.path();
  page.name = kImportedJob;
  for (const std::string& file : job.files) page.graph += (page.graph.empty() ? "" : ", ") + file;
  page.target = target;
  page.device = "the device of " + page.graph;
  page.finished = true;
  page.began_unix = page.ended_unix = job.last;
  page.trials = job.trials;
  page.ok = job.ok;
  return page;
}

}  // namespace

Status GatherImported(const records::Store& store, const GatherOptions& options,
                      Document& document) {
  std::map<std::string, ImportedJob> jobs;  // by target
  std::int64_t left_out = 0;
  const auto add = [&](const records::ImportedRecord& record) {
    const auto target = Target::Parse(record.canonical_target);
    const auto trial =
        target.ok() ? TrialOfImported(record, *target, options) : Result<Trial>(target.status());
    if (!trial.ok()) {
      ++left_out;
      return Status();
    }
    ImportedJob& job = jobs[target->ToString()];
    auto& task = job.tasks[record.workload_key];
    if (task == nullptr) task = std::make_unique<TaskTrials>(trial->candidate.task, Epilogue());
    records::Record row;
    row.trial = *trial;
    task->Add(row);
    job.files.insert(trial->device.model);
    job.last = std::max(job.last, record.finished);
    ++job.trials;
    job.ok += trial->outcome == Outcome::kOk ? 1 : 0;
    return Status();
  };
  TW_RETURN_IF_ERROR(records::ForEachImported(store, add));
  for (const auto& [target, job] : jobs) {
    TW_RETURN_IF_ERROR(AddJob(store, job.tasks, options, PageOf(store, target, job), document));
  }
  if (!jobs.empty()) {
    document.missing.push_back(
        store.path() +
        ": imported records, not verified here; AutoTVM logs have no default configs, no "
        "predictions, no time breakdown, and no noise except the spread of their runs");
  }
  if (left_out > 0) {
    document.missing.push_back(
        store.path() + ": " + std::to_string(left_out) +
        " imported records of unsupported operators or targets are left out");
  }
  return {};
}

}  // namespace tilewright::report
