#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/runtime/roofline.h"

namespace tilewright::search {

/// Static properties of a task for the scheduler.
struct ScheduledTask {
  double weight = 1;         ///< occurrences in the network
  double operations = 0;     ///< of one run (see Work)
  RooflineBound bound = {};  ///< lower bound of the best value; zeros: unknown
  std::int64_t configs = 0;  ///< size of the space; 0: unknown
};

struct SchedulerOptions {
  std::int64_t min_trials = 16;          ///< every task with headroom gets these first
  std::int64_t early_stop_trials = 256;  ///< without improvement; 0 = never
  double early_stop_improvement = 0.01;
};

/// Scheduler that selects the task of the next batch: the one whose next trials are expected to
/// shorten the network most: uses x time x headroom. Every task gets one batch first, and then
/// min_trials if it has headroom; among these tasks, too, the expected gain decides, so that few
/// trials go to the tasks that matter. Deterministic; ties go to the first task. Source: the
/// gradient of Ansor's task scheduler (Zheng et al., OSDI 2020), simplified.
class TaskScheduler {
 public:
  TaskScheduler(std::vector<ScheduledTask> tasks, const SchedulerOptions& options);

  /// Returns the task for the next batch; nullopt if every task is retired.
  std::optional<int> Next() const;
  /// Records that a batch of `trials` was proposed for the task.
  void Proposed(int task, std::int64_t trials);
  /// Records the results of a batch. best_seconds: the task's best so far, 0 if none.
  /// product_share: operations that this best executes for each of the task's (ProductShareOf).
  void Observe(int task, std::int64_t trials, double best_seconds, double product_share = 1);
  /// Excludes the task from further trials.
  void Retire(int task);
  bool retired(int task) const { return At(task).retired; }
  /// Returns the number of tasks without proposals, except retired ones.
  std::int64_t unstarted() const;
  /// Returns the trials until every task is stale or exhausted if none improves any more; nullopt
  /// if tasks have no early stop and spaces of unknown size.
  std::optional<std::int64_t> TrialsUntilStale() const;
  /// Returns whether the task had early_stop_trials without improvement.
  bool Stale(int task) const;
  /// Returns the expected seconds saved in the network by the next `trials` of the task.
  double Gain(int task, std::int64_t trials = 8) const;

 private:
  struct State {
    ScheduledTask task;
    std::int64_t proposed = 0, observed = 0;
    double best = 0;
    double product_share = 1;          ///< of the best
    double improved_best = 0;          ///< best at the last sufficient improvement
    std::int64_t improved_trials = 0;  ///< trials observed at that time
    struct Point {
      std::int64_t observed = 0;
      double best = 0;
    };
    std::vector<Point> recent;  ///< the last few batches
    bool retired = false;
  };
  State& At(int task) { return tasks_[static_cast<std::size_t>(task)]; }
  const State& At(int task) const { return tasks_[static_cast<std::size_t>(task)]; }
  /// Returns the operations of one run of the best.
  static double OperationsOf(const State& state) {
    return state.task.operations * state.product_share;
  }
  /// Returns the best seconds of the task, or an estimate if it has no working config. rate:
  /// BestRate.
  static double SecondsOf(const State& state, double rate);
  /// Returns the share of the seconds that better configs may save, at least a small one.
  static double HeadroomOf(const State& state, double seconds, double rate);
  /// Returns whether the task gets trials before tasks with min_trials.
  bool NeedsTrials(const State& state, double rate) const;
  double BestRate() const;
  SchedulerOptions options_;
  std::vector<State> tasks_;
};

}  // namespace tilewright::search
