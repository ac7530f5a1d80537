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

/// Next points of a task, from its strategy.
struct Proposal {
  int task = 0;
  std::vector<Point> points;   ///< empty: the strategy has no more
  std::vector<float> scores;   ///< parallel to points, or empty; of the strategy's model
  std::string strategy_state;  ///< after the proposal
  std::int64_t filtered = 0;   ///< see Strategy
  Status status;
};

/// TuneProposer of a job's points: runs the strategies, one proposal at a time, on its own thread,
/// and trains their models on another one. Proposals use the last model meanwhile. All functions
/// are for the thread of Tune.
class TuneProposer {
 public:
  /// job must outlive the proposer. pool: trials of other tasks, for training.
  TuneProposer(TuneJob& job, WarmPool pool) : job_(job), pool_(std::move(pool)) {}

  /// Starts the threads. Without this call Start does all the work. Errors: kUnavailable if no
  /// thread can be started.
  Status StartThreads();
  /// Trials of other tasks that initialize the task's strategy.
  BeginEntry ChooseWarmStart(int task) const;
  /// Creates the task's strategy. Errors: kInvalidArgument for an unknown one; the strategy's.
  Status MakeStrategy(int task, const BeginEntry& begin);
  /// Reports results to the task's strategy, and starts a proposal of `count` points. Requires that
  /// the previous proposal was taken.
  void Start(int task, int count, std::vector<Observation> results);
  /// Returns the started proposal once it is complete.
  std::optional<Proposal> Take();
  /// Seconds spent in strategies and training.
  double model_seconds() const { return model_seconds_; }

 private:
  void Propose(int task, int count, const std::vector<Observation>& results);
  void TrainModel(TaskState& state, bool wait);

  TuneJob& job_;
  const WarmPool pool_;
  std::mutex mutex_;
  std::optional<Proposal> proposal_;  // guarded by mutex_
  std::atomic<double> model_seconds_{0};
  // Last, so that they are destroyed first: their work refers to the members above.
  WorkerThread training_thread_;
  WorkerThread strategy_thread_;
};

}  // namespace tilewright::search
