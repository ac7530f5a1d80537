// Opening a job, and resuming one that was interrupted. A log that does not replay, because a space
// or a strategy has changed, stays as it is, and the job begins another one.
#include "search/tune/tune_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "search/legality.h"
#include "search/tune/job_name.h"
#include "search/tune/racer.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"
#include "src/tensor/work.h"

namespace tilewright::search {

Status TuneRun::MakeTasks(const std::vector<TuneTask>& tasks) {
  std::vector<ScheduledTask> scheduled;
  std::string unserved;
  for (const TuneTask& task : tasks) {
    Result<std::unique_ptr<TaskState>> state = MakeTaskState(*job_.context.templates, task);
    if (!state.ok() && state.status().code() == StatusCode::kUnsupported) {
      unserved += (unserved.empty() ? "" : "; ") + state.status().message();
      continue;
    }
    TW_RETURN_IF_ERROR(state);
    for (const auto& other : job_.tasks) {
      if (other->key == (*state)->key) return InvalidArgument("task given twice: " + other->key);
    }
    (*state)->defer_verification =
        job_.settings.finalists > 0 && IsSimulated((*state)->input.task.target);
    job_.tasks.push_back(std::move(*state));
    // With several metrics the scheduler's values are no times.
    scheduled.push_back({task.weight * static_cast<double>(task.occurrences),
                         WorkOf(task.task.workload).operations,
                         job_.settings.metric.empty() ? task.bound : RooflineBound(),
                         job_.tasks.back()->space.size()});
  }
  if (!unserved.empty()) return Unsupported(unserved);
  job_.simulated = IsSimulated(job_.tasks.front()->input.task.target);
  SchedulerOptions options;
  options.min_trials = job_.settings.min_trials_per_task;
  options.early_stop_trials = job_.settings.early_stop_trials;
  options.early_stop_improvement = job_.settings.early_stop_improvement;
  scheduler_ = std::make_unique<TaskScheduler>(std::move(scheduled), options);
  return {};
}

Status TuneRun::Open(const std::vector<TuneTask>& tasks, int log) {
  const TuneContext& context = job_.context;
  TW_RETURN_IF_ERROR(MakeTasks(tasks));
  TW_RETURN_IF_ERROR(
      KeepEarlierDefault(*context.store, tasks, context.only_templates, log, job_.settings));
  TW_ASSIGN_OR_RETURN(job_.record, context.store->OpenJob(
                                       JobName(tasks, job_.settings, context.only_templates, log),
                                       ToJson(job_.settings), job_.settings.seed));
  job_.observer().Opened(job_.record.name);
  WarmPool pool;
  if (job_.settings.warm_start) {
    const Target target = WithoutLibraries(job_.tasks.front()->input.task.target);
    TW_ASSIGN_OR_RETURN(pool,
                        WarmPool::Load(*context.templates, *context.store, job_.record.id, target));
  }
  TW_ASSIGN_OR_RETURN(auto budget, Budget::Start(job_.settings, *context.clock, job_.tasks.size(),
                                                 context.begun_seconds));
  budget_ = std::make_unique<Budget>(std::move(budget));
  journal_ = std::make_unique<Journal>(job_, *budget_);
  proposer_ = std::make_unique<TuneProposer>(job_, std::move(pool));
  pipeline_ = std::make_unique<Pipeline>(job_, *scheduler_, *budget_, *journal_, *proposer_);
  return Resume();
}

/// Rejects trials of another codegen version, whose times are not comparable. The store excludes
/// them from queries, too.
Status TuneRun::CheckVersions() const {
  for (const auto& task : job_.tasks) {
    const Target& target = task->input.task.target;
    records::TrialFilter filter;
    filter.job = job_.record.id;
    filter.workload_key = task->key;
    filter.target = target.ToString();
    filter.other_than_codegen = DeviceTraitsOf(target).codegen_version;
    TW_ASSIGN_OR_RETURN(std::int64_t others, job_.context.store->CountTrials(filter));
    if (others == 0) continue;
    return Corrupt(
        fmt::format("search log: {} trials of {} have another codegen version than"
                    " the present {}",
                    others, task->key, *filter.other_than_codegen));
  }
  return {};
}

Status TuneRun::Resume() {
  std::vector<TaskLog> logs;
  for (const auto& task : job_.tasks) {
    TW_ASSIGN_OR_RETURN(std::vector<records::LogEntry> entries,
                        job_.context.store->Log(job_.record.id, task->key));
    TW_ASSIGN_OR_RETURN(TaskLog log, Decode(entries));
    logs.push_back(std::move(log));
  }
  Status replayed = CheckVersions();
  if (replayed.ok()) replayed = pipeline_->Replay(logs);
  for (const auto& task : job_.tasks) {
    if (replayed.ok() && !job_.settings.metric.empty()) replayed = ReplayVerified(*task);
  }
  for (const auto& task : job_.tasks) {
    if (replayed.ok() && task->strategy != nullptr) replayed = task->strategy->FinishReplay();
  }
  if (replayed.ok()) replayed = RestoreElapsedTime();
  log_diverged_ = replayed.code() == StatusCode::kCorrupt;
  TW_RETURN_IF_ERROR(replayed);
  if (budget_->trials() > 0) job_.observer().Resumed(budget_->trials());
  return {};
}

/// Restores the elapsed time from separate entries, because the last Ask is too early: a run that
/// is repeatedly killed during its trials would get its whole budget each time.
Status TuneRun::RestoreElapsedTime() {
  std::vector<records::LogEntry> entries;
  for (const char* kind : {"life", "time"}) {
    TW_ASSIGN_OR_RETURN(std::vector<records::LogEntry> some,
                        job_.context.store->LogOfKind(job_.record.id, kind));
    entries.insert(entries.end(), some.begin(), some.end());
  }
  TW_ASSIGN_OR_RETURN(JobLog log, DecodeJobLog(entries));
  for (const RunEntry& run : log.runs) {
    budget_->AddEarlierRun(run.elapsed_seconds);
  }
  for (const TimeEntry& time : log.times) {
    budget_->AddEarlierRun(time.elapsed_seconds);
  }
  return {};
}

Status TuneRun::ReplayVerified(TaskState& state) const {
  const Target& target = state.input.task.target;
  records::TrialFilter filter;
  filter.job = job_.record.id;
  filter.workload_key = state.key;
  filter.target = target.ToString();
  return job_.context.store->ForEachTrial(filter, [&](const records::Record& record) -> Status {
    const Trial& trial = record.trial;
    if (trial.attempt <= 0) return {};
    const bool fine = trial.outcome == Outcome::kOk && trial.verified;
    // The same rule as during the run: a failure in a race shows that a result is wrong, or
    // nothing.
    const bool says = state.defer_verification ? trial.outcome != Outcome::kDeviceLost
                                               : fine || trial.outcome == Outcome::kWrongResult;
    const std::optional<Point> point = state.PointOf(trial.candidate);
    if (says && point) state.RecordVerification(*point, fine);
    return {};
  });
}

Status TuneRun::Search() {
  TW_RETURN_IF_ERROR(pipeline_->Run());
  interrupted_ = pipeline_->interrupted();
  return CheckAnyTrial();
}

Status TuneRun::CheckAnyTrial() const {
  if (budget_->trials() > 0 || interrupted_ || !budget_->LimitReached().empty()) return {};
  std::string message;
  for (const auto& task : job_.tasks) {
    const Legality legality = CheckConfigs(task->space);
    if (legality.none_legal()) {
      message += (message.empty() ? "" : "; ") + task->key + ": " + legality.Text();
    }
  }
  return message.empty() ? Status() : InvalidArgument("nothing can be measured: " + message);
}

Status TuneRun::Race() {
  Racer racer(job_, *budget_,
              {pipeline_->batches(), journal_->search_seconds(), journal_->last_time()});
  if (interrupted_) {
    racer.ReportEarlierRaces();
    return {};
  }
  TW_RETURN_IF_ERROR(racer.Race());
  interrupted_ = racer.interrupted();
  return {};
}

TuneReport TuneRun::Report() const {
  TuneReport report;
  if (!job_.tasks.empty()) report.metric = MetricOf(job_.tasks.front()->input.task.target);
  report.metrics = job_.settings.metric;
  for (const auto& task : job_.tasks) {
    report.tasks.push_back(task->report);
    if (task->report.trials == 0 && task->report.finish_reason == "exhausted") {
      const Legality legality = CheckConfigs(task->space);
      if (legality.legal == 0) report.tasks.back().no_result_reason = legality.Text();
    }
    for (const Observation& observed : task->VerifiedFront()) {
      const auto which = static_cast<std::size_t>(observed.point.space);
      report.tasks.back().front.push_back(
          {observed.values, std::string(task->space.templates[which]->key), observed.point.index});
    }
  }
  report.trials = budget_->trials();
  report.trials_this_run = budget_->trials_this_run();
  report.wall_seconds = budget_->RunSeconds();
  if (journal_->search_seconds() > 0) {
    report.trials_per_second =
        static_cast<double>(budget_->trials_this_run()) / journal_->search_seconds();
  }
  report.split = journal_->split();
  report.model_seconds = proposer_->model_seconds();
  report.resolution = job_.context.measurer->resolution();
  report.interrupted = interrupted_;
  report.elapsed_seconds = budget_->ElapsedSeconds();
  report.end = interrupted_ ? "stopped" : budget_->LimitReached();
  if (report.end.empty()) {
    const bool exhausted = std::ranges::all_of(
        report.tasks, [](const TaskReport& task) { return task.finish_reason == "exhausted"; });
    report.end = exhausted ? "exhausted" : "no improvement";
  }
  return report;
}

}  // namespace tilewright::search
