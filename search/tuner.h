#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost_model/cost_model.h"
#include "measure/measurer.h"
#include "records/store.h"
#include "search/job.h"
#include "search/registry.h"
#include "search/report.h"
#include "src/base/clock.h"
#include "src/runtime/roofline.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright::search {

/// Task to tune, with its epilogue and its number of occurrences in the network.
struct TuneTask {
  Task task;
  Epilogue epilogue;
  std::int64_t occurrences = 1;
  /// In the target's metric; zeros: unknown. Not part of the job's identity.
  RooflineBound bound = {};
  /// Name of the task of an expression file, by the file and its result; empty for other tasks,
  /// which are named by their workloads. Only for display.
  std::string name = {};
  /// Share of the runs that have this task, at most 1: a task of one size of a range.
  double weight = 1;
};

/// Observer of a job. Called on the thread that called Tune. Arguments are valid only during the
/// call.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  /// Called when the job is open, with its name in the store; again if the job starts another log.
  virtual void Opened(const std::string& /*job_name*/) {}
  /// Called after reading trials of earlier runs of the job.
  virtual void Resumed(std::int64_t /*trials*/) {}
  /// Called if the log of an earlier run does not replay, because a space or a strategy has
  /// changed. The job keeps its trials, learns from them, and starts another log.
  virtual void LogDiscarded(const std::string& /*why*/) {}
  /// Called if the search of a task starts with configs that were good under another version of
  /// their template or of the code generator, and are no longer served. configs: their number.
  virtual void StaleFirst(const TaskReport& /*task*/, int /*task_index*/,
                          std::int64_t /*configs*/) {}
  /// Called after a trial was stored. `eta_seconds` until the job ends, races included, 0 if
  /// unknown: until the first limit is reached, or earlier until every task has stopped if none
  /// improves any more.
  virtual void TrialDone(const TaskReport& /*task*/, int /*task_index*/, const Trial& /*trial*/,
                         double /*eta_seconds*/) {}
  virtual void TaskFinished(const TaskReport& /*task*/, int /*task_index*/) {}
  /// Called before the final race of a task; once with the number of tasks when all races are done.
  virtual void RaceBegins(int /*task_index*/) {}
};

/// Dependencies of a job. The pointees have to outlive the call.
struct TuneContext {
  const TemplateRegistry* templates = nullptr;
  const StrategyRegistry* strategies = nullptr;
  measure::Measurer* measurer = nullptr;
  records::Store* store = nullptr;
  Clock* clock = nullptr;
  /// Creates an untrained cost model; required by strategies that learn.
  std::function<std::unique_ptr<cost_model::CostModel>()> make_model;
  /// Keys that restrict the search (RestrictTemplates). Part of the job's name, because points of
  /// its log refer to the templates of a task by number. Empty: all.
  std::vector<std::string> only_templates;
  std::string command;  ///< command of this run, for reports; may be empty
  /// Time of `clock` at which this run began, for its budget: preparing the device counts. None:
  /// when Tune is called.
  std::optional<double> begun_seconds;
  TuneObserver* observer = nullptr;         ///< may be null
  const std::atomic<bool>* stop = nullptr;  ///< becomes true: finish soon; may be null
  /// Runs Ask, training and writes on separate threads. False: all on the calling thread, in an
  /// order that depends only on the results (tests, replays).
  bool threads = true;
};

/// Tunes the tasks. Proposals, builds, runs and training overlap, until the trials or the budget
/// are spent or no task improves. Every trial is durable before it counts. If the store contains
/// the same job (by a name made from tasks and settings without their limits), the call resumes it;
/// if the job's log no longer replays, under a new log. Errors: kInvalidArgument for bad settings;
/// kUnsupported naming the tasks that no template serves; kUnavailable if measurer or store cannot
/// continue (all acknowledged data is kept).
Result<TuneReport> Tune(const std::vector<TuneTask>& tasks, const JobSettings& settings,
                        const TuneContext& context);

}  // namespace tilewright::search
