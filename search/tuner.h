#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cost_model/cost_model.h"
#include "measure/measurer.h"
#include "records/store.h"
#include "search/job.h"
#include "search/registry.h"
#include "search/report.h"
#include "src/base/clock.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright::search {

/// A task to be tuned, with what it is fused with and how often the network runs it.
struct TuneTask {
  Task task;
  Epilogue epilogue;
  std::int64_t occurrences = 1;
};

/// Is told what happens, on the thread that called Tune. Everything passed is valid during the call
/// only.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  /// The job is there, by this name in the store; again if it begins another log.
  virtual void Opened(const std::string& /*job_name*/) {}
  /// Trials done in earlier lives of the job have been read back.
  virtual void Resumed(std::int64_t /*trials*/) {}
  /// The log of an earlier life does not lead to where that life was, as a space or a strategy has
  /// changed since. Its trials stay, and are learned from; the job begins another log.
  virtual void LogDiscarded(const std::string& /*why*/) {}
  /// The search of a task begins with so many configs that were good under another version of their
  /// template or of the code generator, and are not served since.
  virtual void StaleFirst(const TaskReport& /*task*/, int /*task_index*/,
                          std::int64_t /*configs*/) {}
  /// A trial is stored. `eta_seconds` until the job is over, 0 if unknown.
  virtual void TrialDone(const TaskReport& /*task*/, int /*task_index*/, const Trial& /*trial*/,
                         double /*eta_seconds*/) {}
  virtual void TaskFinished(const TaskReport& /*task*/, int /*task_index*/) {}
};

/// What a job runs with. All of it outlives the call.
struct TuneContext {
  const TemplateRegistry* templates = nullptr;
  const StrategyRegistry* strategies = nullptr;
  measure::Measurer* measurer = nullptr;
  records::Store* store = nullptr;
  Clock* clock = nullptr;
  /// Makes an untrained cost model; needed by strategies that learn.
  std::function<std::unique_ptr<cost_model::CostModel>()> make_model;
  /// Keys that the search was limited to (RestrictTemplates): part of the job's name, as points of
  /// its log count the templates of a task. Empty: all.
  std::vector<std::string> only_templates;
  TuneObserver* observer = nullptr;         ///< may be null
  const std::atomic<bool>* stop = nullptr;  ///< becomes true: finish soon; may be null
  /// Asks, learns and writes on threads of their own. False: all on the calling thread, in an
  /// order that depends on nothing but the results (tests, replays).
  bool threads = true;
};

/// Tunes the tasks: proposes, builds, runs and learns, all overlapped, until the trials or the
/// budget are spent or no task improves any more. Every trial is durable before it counts. The same
/// job (name made from tasks, settings without their limits) found in the store goes on, under a
/// new log if its own no longer replays.
/// Errors: kInvalidArgument for bad settings; kUnsupported naming the tasks no template serves;
/// kUnavailable if measurer or store can not go on (all that was acknowledged is kept).
Result<TuneReport> Tune(const std::vector<TuneTask>& tasks, const JobSettings& settings,
                        const TuneContext& context);

}  // namespace tilewright::search
