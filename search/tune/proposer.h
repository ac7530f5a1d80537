#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "search/job_log.h"
#include "search/tune/tune_job.h"
#include "search/tune/warm_start.h"
#include "search/tune/worker_thread.h"

namespace tilewright::search {

/// The next points of a task, by its strategy.
struct Proposal {
  int task = 0;
  std::vector<Point> points;   ///< none: the strategy has no more
  std::vector<float> scores;   ///< parallel to points, or empty; of the strategy's model
  std::string strategy_state;  ///< after the proposal
  std::int64_t filtered = 0;   ///< see Strategy
  Status status;
};

/// Runs the strategies of a job's tasks, one proposal at a time, on a thread of its own, and trains
/// their models on another one. Proposals use the last model meanwhile. All functions are for the
/// thread of Tune.
class Proposer {
 public:
  /// job outlives the proposer. pool: trials of other tasks, to learn from.
  Proposer(TuneJob& job, WarmPool pool) : job_(job), pool_(std::move(pool)) {}

  /// Without this call all work is done in Start. Errors: kUnavailable if no thread can be had.
  Status StartThreads();
  /// The trials of other tasks that the task's strategy should begin with.
  BeginEntry ChooseWarmStart(int task) const;
  /// Makes the task's strategy. Errors: kInvalidArgument for an unknown one; the strategy's.
  Status MakeStrategy(int task, const BeginEntry& begin);
  /// Tells the task's strategy its results, and starts a proposal of `count` points. The last one
  /// has been taken.
  void Start(int task, int count, std::vector<Observation> results);
  /// The proposal that was started, once it is made.
  std::optional<Proposal> Take();
  /// Time that strategies and training have taken.
  double model_seconds() const { return model_seconds_; }

 private:
  void Propose(int task, int count, const std::vector<Observation>& results);
  void TrainModel(TaskState& state, bool wait);

  TuneJob& job_;
  const WarmPool pool_;
  std::mutex mutex_;
  std::optional<Proposal> proposal_;  // guarded by mutex_
  std::atomic<double> model_seconds_{0};
  // Last, so that they end first: their work refers to the members above.
  WorkerThread training_thread_;
  WorkerThread strategy_thread_;
};

}  // namespace tilewright::search
