// Opens a job, and resumes one that was interrupted.
//
// The log contains every batch that was proposed and every result that became durable. Replaying it
// in the order of the batches restores strategies, scheduler and reports to their state after the
// last Ask. Points that were proposed and never observed are submitted again. A log that does not
// replay, because a space or a strategy has changed, is kept unchanged, and the job starts another
// log.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "search/deadline.h"
#include "search/strategies/fronts.h"
#include "search/tuner_impl.h"
#include "src/base/hash.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"
#include "src/tensor/work.h"

namespace tilewright::search {
namespace {

// Does not delay trials that take a millisecond by the usual fifty.
constexpr double kCountedGatherSeconds = 0.005;

/// Clears the settings that only limit the job or choose its racers: a job can be resumed with
/// other ones.
JobSettings WithoutLimits(JobSettings settings) {
  const JobSettings defaults;
  settings.graph = defaults.graph;
  // The tasks already reflect how the file was read.
  settings.shape = defaults.shape;
  settings.dim = defaults.dim;
  settings.value = defaults.value;
  settings.requantize = defaults.requantize;
  settings.records = defaults.records;
  settings.fleet = defaults.fleet;
  settings.fleet_class = defaults.fleet_class;
  settings.priority = defaults.priority;
  settings.share = defaults.share;
  settings.broker_timeout_seconds = defaults.broker_timeout_seconds;
  settings.deadline = defaults.deadline;
  settings.trials = defaults.trials;
  settings.budget_seconds = defaults.budget_seconds;
  settings.early_stop_trials = defaults.early_stop_trials;
  settings.early_stop_improvement = defaults.early_stop_improvement;
  settings.finalists = defaults.finalists;
  return settings;
}

std::string JobName(const std::vector<TuneTask>& tasks, const JobSettings& settings,
                    std::vector<std::string> only_templates, int life) {
  std::string text = ToJson(WithoutLimits(settings));
  for (const TuneTask& task : tasks) {
    text += "\n" + task.task.workload.Key() + " " + task.task.target.ToString() + " " +
            task.epilogue.ToString() + " " + std::to_string(task.occurrences);
  }
  std::ranges::sort(only_templates);
  only_templates.erase(std::ranges::unique(only_templates).begin(), only_templates.end());
  for (const std::string& key : only_templates) text += "\nonly " + key;
  return HexOf(Fnv1a64(text)) + (life == 0 ? "" : "." + std::to_string(life));
}

/// Keeps the strategy of a job that was started when "model" was the default, because its log
/// belongs to that strategy.
Status KeepEarlierDefault(const TuneContext& context, const std::vector<TuneTask>& tasks, int life,
                          JobSettings& settings) {
  if (settings.strategy != JobSettings().strategy) return {};
  JobSettings earlier = settings;
  earlier.strategy = "model";
  const std::string name = JobName(tasks, settings, context.only_templates, life);
  const std::string earlier_name = JobName(tasks, earlier, context.only_templates, life);
  TW_ASSIGN_OR_RETURN(std::vector<records::Job> jobs, context.store->Jobs());
  bool begun = false;
  for (const records::Job& job : jobs) {
    if (job.name == name) return {};
    begun = begun || job.name == earlier_name;
  }
  if (begun) settings = std::move(earlier);
  return {};
}

Status CheckInSpace(const TaskState& state, std::int64_t batch, Point point) {
  if (point.space >= 0 && point.space < std::ssize(state.space.spaces) && point.index >= 0 &&
      point.index < state.space.spaces[static_cast<std::size_t>(point.space)].size()) {
    return {};
  }
  return Corrupt("search log: batch " + std::to_string(batch) + ": a point outside the space of " +
                 state.key);
}

}  // namespace

Status TuneRun::Open(const std::vector<TuneTask>& tasks, int life) {
  std::vector<ScheduledTask> scheduled;
  std::string unserved;
  for (const TuneTask& task : tasks) {
    Result<std::unique_ptr<TaskState>> state = MakeTaskState(*context_.templates, task);
    if (!state.ok() && state.status().code() == StatusCode::kUnsupported) {
      unserved += (unserved.empty() ? "" : "; ") + state.status().message();
      continue;
    }
    TW_RETURN_IF_ERROR(state);
    for (const auto& other : tasks_) {
      if (other->key == (*state)->key) return InvalidArgument("task given twice: " + other->key);
    }
    (*state)->defer_verification =
        settings_.finalists > 0 && IsSimulated((*state)->input.task.target);
    tasks_.push_back(std::move(*state));
    scheduled.push_back(
        {static_cast<double>(task.occurrences), WorkOf(task.task.workload).operations});
  }
  if (!unserved.empty()) return Unsupported(unserved);
  SchedulerOptions options;
  options.min_trials = settings_.min_trials_per_task;
  options.early_stop_trials = settings_.early_stop_trials;
  options.early_stop_improvement = settings_.early_stop_improvement;
  scheduler_ = std::make_unique<TaskScheduler>(std::move(scheduled), options);

  TW_RETURN_IF_ERROR(KeepEarlierDefault(context_, tasks, life, settings_));
  TW_ASSIGN_OR_RETURN(
      job_, context_.store->OpenJob(JobName(tasks, settings_, context_.only_templates, life),
                                    ToJson(settings_), settings_.seed));
  if (context_.observer != nullptr) context_.observer->Opened(job_.name);
  pool_ = std::make_unique<WarmPool>();
  if (settings_.warm_start && !tasks_.empty()) {
    const Target target = WithoutLibraries(tasks_.front()->input.task.target);
    TW_ASSIGN_OR_RETURN(WarmPool pool,
                        WarmPool::Load(*context_.templates, *context_.store, job_.id, target));
    *pool_ = std::move(pool);
  }
  counts_ = IsSimulated(tasks_.front()->input.task.target);
  writer_ = std::make_unique<Writer>(*context_.store, job_.id,
                                     counts_ ? kCountedGatherSeconds : Writer::kGatherSeconds);
  start_seconds_ = context_.clock->MonotonicSeconds();
  if (!settings_.deadline.empty()) {
    const double now = context_.clock->UnixSeconds();
    TW_ASSIGN_OR_RETURN(const auto deadline, ParseFutureDeadline(settings_.deadline, now));
    deadline_seconds_ = deadline - now;
  }
  return Resume();
}

Status TuneRun::MakeStrategy(int task, const BeginEntry& begin) {
  TaskState& state = TaskAt(task);
  const StrategyEntry* entry = context_.strategies->Find(settings_.strategy);
  if (entry == nullptr) return InvalidArgument("strategy: " + settings_.strategy + ", unknown");
  StrategyContext made;
  made.space = &state.space;
  made.analyzer = state.analyzer.get();
  made.seed = settings_.seed ^ Fnv1a64(state.key);
  made.epsilon = settings_.epsilon;
  made.make_model = context_.make_model;
  made.warm = pool_->Collect(tasks_, begin);
  made.first = begin.first;
  state.strategy = settings_.metric.empty() ? entry->make(made)
                                            : MakeFrontSearch(*entry, made, settings_.metric);
  return state.strategy->status();
}

/// Rejects trials of another codegen version, whose times are not comparable. The store excludes
/// them from queries, too.
Status TuneRun::CheckVersions() const {
  for (const auto& task : tasks_) {
    const Target& target = task->input.task.target;
    records::TrialFilter filter;
    filter.job = job_.id;
    filter.workload_key = task->key;
    filter.target = target.ToString();
    filter.other_than_codegen = DeviceTraitsOf(target).codegen_version;
    TW_ASSIGN_OR_RETURN(std::int64_t others, context_.store->CountTrials(filter));
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
  for (const auto& task : tasks_) {
    TW_ASSIGN_OR_RETURN(std::vector<records::LogEntry> entries,
                        context_.store->Log(job_.id, task->key));
    TW_ASSIGN_OR_RETURN(TaskLog log, Decode(entries));
    logs.push_back(std::move(log));
  }
  Status replayed = CheckVersions();
  if (replayed.ok()) replayed = Replay(logs);
  for (const auto& task : tasks_) {
    if (replayed.ok() && !settings_.metric.empty()) replayed = ReplayVerified(*task);
  }
  for (const auto& task : tasks_) {
    if (replayed.ok() && task->strategy != nullptr) replayed = task->strategy->FinishReplay();
  }
  if (replayed.ok()) replayed = RestoreElapsedTime();
  log_diverged_ = replayed.code() == StatusCode::kCorrupt;
  TW_RETURN_IF_ERROR(replayed);
  for (const BatchState& batch : batches_) {
    if (!batch.complete()) to_submit_.push_back(batch.number);
  }
  if (trials_ > 0 && context_.observer != nullptr) context_.observer->Resumed(trials_);
  return {};
}

/// Restores the elapsed time from separate entries, because the last Ask is too early: a run that
/// is repeatedly killed during its trials would get its whole budget each time.
Status TuneRun::RestoreElapsedTime() {
  std::vector<records::LogEntry> entries;
  for (const char* kind : {"life", "time"}) {
    TW_ASSIGN_OR_RETURN(std::vector<records::LogEntry> some,
                        context_.store->LogOfKind(job_.id, kind));
    entries.insert(entries.end(), some.begin(), some.end());
  }
  TW_ASSIGN_OR_RETURN(JobLog log, DecodeJobLog(entries));
  for (const RunEntry& life : log.runs) {
    earlier_seconds_ = std::max(earlier_seconds_, life.elapsed_seconds);
  }
  for (const TimeEntry& time : log.times) {
    earlier_seconds_ = std::max(earlier_seconds_, time.elapsed_seconds);
  }
  return {};
}

Status TuneRun::Replay(const std::vector<TaskLog>& logs) {
  std::map<std::int64_t, std::pair<int, const AskEntry*>> asks;
  std::map<std::pair<std::int64_t, std::int64_t>, const TellEntry*> tells;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const AskEntry& ask : logs[i].asks) asks[ask.batch] = {static_cast<int>(i), &ask};
    for (const TellEntry& tell : logs[i].tells) tells[{tell.batch, tell.slot}] = &tell;
  }
  for (const auto& [number, ask] : asks) {
    const auto& [task, entry] = ask;
    if (number != next_batch_) {
      return Corrupt("search log: batch " + std::to_string(number) + ", expected batch " +
                     std::to_string(next_batch_));
    }
    TaskState& state = TaskAt(task);
    for (std::int64_t observed : entry->observed) {
      const BatchState* batch = FindBatch(observed);
      if (batch == nullptr || !batch->complete()) {
        return Corrupt("search log: batch " + std::to_string(number) +
                       " was proposed after batch " + std::to_string(observed) +
                       ", whose results are missing");
      }
      TellBatch(*batch);
    }
    RetireStaleTasks();
    if (state.strategy == nullptr) {
      const BeginEntry begin = logs[static_cast<std::size_t>(task)].begin.value_or(BeginEntry());
      for (Point point : begin.first) TW_RETURN_IF_ERROR(CheckInSpace(state, entry->batch, point));
      TW_RETURN_IF_ERROR(MakeStrategy(task, begin));
    }
    TW_RETURN_IF_ERROR(ReplayAsk(task, *entry, tells));
  }
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (logs[i].best) {
      TW_RETURN_IF_ERROR(CheckInSpace(*tasks_[i], logs[i].best->batches, logs[i].best->winner));
    }
    tasks_[i]->raced = logs[i].best;
    if (logs[i].best) tasks_[i]->last_attempt = logs[i].best->attempt;
  }
  return {};
}

Status TuneRun::ReplayVerified(TaskState& state) const {
  const Target& target = state.input.task.target;
  records::TrialFilter filter;
  filter.job = job_.id;
  filter.workload_key = state.key;
  filter.target = target.ToString();
  return context_.store->ForEachTrial(filter, [&](const records::Record& record) -> Status {
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

Status TuneRun::ReplayAsk(
    int task, const AskEntry& ask,
    const std::map<std::pair<std::int64_t, std::int64_t>, const TellEntry*>& tells) {
  TaskState& state = TaskAt(task);
  for (Point point : ask.points) TW_RETURN_IF_ERROR(CheckInSpace(state, ask.batch, point));
  state.strategy->Tell(std::exchange(state.pending_observations, {}));
  TW_RETURN_IF_ERROR(state.strategy->ReplayAsk(ask.points, ask.strategy_state));
  state.report.filtered = state.strategy->filtered();
  earlier_seconds_ = std::max(earlier_seconds_, ask.elapsed_seconds);
  next_batch_ = ask.batch + 1;
  state.last_batch = ask.batch;
  if (ask.points.empty()) {
    Retire(task, "exhausted");
    return {};
  }
  BatchState batch;
  batch.number = ask.batch;
  batch.task = task;
  batch.points = ask.points;
  if (ask.scores.size() == ask.points.size()) batch.scores = ask.scores;
  batch.results.resize(ask.points.size());
  for (std::size_t slot = 0; slot < ask.points.size(); ++slot) {
    const auto tell = tells.find({ask.batch, static_cast<std::int64_t>(slot)});
    if (tell == tells.end()) continue;
    if (tell->second->observed.point != ask.points[slot]) {
      return Corrupt("search log: batch " + std::to_string(ask.batch) + ", slot " +
                     std::to_string(slot) + ": the observed point differs from the proposed point");
    }
    const std::size_t values = tell->second->observed.values.size();
    if (values != 0 && values != settings_.metric.size()) {
      return Corrupt("search log: batch " + std::to_string(ask.batch) + ", slot " +
                     std::to_string(slot) + ": " + std::to_string(values) + " values, expected " +
                     std::to_string(settings_.metric.size()));
    }
    batch.results[slot] = tell->second->observed;
    ++batch.done;
    ++trials_;
    state.Note(tell->second->observed, tell->second->verified, KeptFastest());
  }
  proposed_trials_ += std::ssize(batch.points);
  scheduler_->Proposed(task, std::ssize(batch.points));
  batches_.push_back(std::move(batch));
  return {};
}

}  // namespace tilewright::search
