#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "search/job_log.h"
#include "search/registry.h"
#include "search/report.h"
#include "search/space.h"
#include "search/static_analyzer.h"
#include "search/strategy.h"
#include "search/tuner.h"

namespace tilewright::search {

/// One task while its job runs: the space, the strategy, and what is known so far.
///
/// The strategy is touched by the thinking thread only; everything else by the thread of Tune.
struct TaskState {
  TuneTask input;
  std::string key;  ///< of its log entries and records: the workload's key
  SearchSpace space;
  std::unique_ptr<StaticAnalyzer> analyzer;
  std::unique_ptr<Strategy> strategy;  ///< made when the task is first asked for points
  TaskReport report;

  /// Results the strategy has not been told yet, in the order in which it will be.
  std::vector<Observation> pending_observations;
  /// The first trials told, for other tasks to learn from.
  std::vector<Observation> first_trials;
  /// Fastest of all told, 0 if none is ok; of several metrics the mean of the best of each
  /// direction (FrontDirections), which gets better wherever the front does.
  double observed_best_seconds = 0;
  double observed_product_share = 1;  ///< of the fastest of all told
  /// The fastest verified points, or where defer_verification all points, fastest first.
  std::vector<Observation> fastest;
  /// The fastest of those that were measured in noise: any of them may be faster than it looks.
  std::vector<Observation> noisy_contenders;
  /// Of a job with several metrics: every result that is ok and verified, or where
  /// defer_verification ok.
  std::vector<Observation> measured;
  std::set<Point> wrong;  ///< of them: what turned out to compute something else
  std::set<Point> right;  ///< of them, where defer_verification: what was verified
  std::optional<Observation> observed_default;  ///< what came of default_point, if it is ok
  std::optional<Point> default_point;
  std::optional<BestEntry> raced;
  /// Trials come unverified, and what is fastest in the end is verified: the device counts, and
  /// comparing what a candidate computes takes much longer than a trial.
  bool defer_verification = false;
  std::int64_t last_attempt = 0;  ///< highest attempt number of any race
  std::int64_t last_batch = -1;   ///< the newest batch asked for this task

  /// A lesson on its way to the learning thread and back to the strategy.
  std::mutex training_mutex;                  ///< guards the three below
  std::unique_ptr<TrainingJob> training_job;  ///< about to be learned
  std::unique_ptr<TrainingJob> learned;
  bool learning = false;

  std::vector<double> observed_bests;  ///< by direction; see observed_best_seconds

  /// See ProductShareOf.
  double ShareOf(Point point) const;
  /// Takes one durable result into the report and `fastest`; trials are counted here.
  void Note(const Observation& observed, bool verified, std::size_t keep_fastest);
  /// Takes what executing a point again said of its result.
  void RecordVerification(const Point& point, bool fine);
  /// Those of `measured` that no other one beats in all metrics, by the first one.
  std::vector<Observation> Front() const;
  /// Those of Front that are known to compute what they should.
  std::vector<Observation> VerifiedFront() const;
  /// Where a candidate is in the space; nothing if no template of today made it.
  std::optional<Point> PointOf(const Candidate& candidate) const;
  /// Takes one result, in the order in which the strategy is told, into what decisions rest on.
  void Tell(const Observation& observed);

 private:
  void UpdateFront(const Observation& observed);
};

/// A batch of points on its way through the measurer.
struct BatchState {
  std::int64_t number = 0;
  int task = 0;
  std::vector<Point> points;
  std::vector<float> scores;  ///< parallel to points, or empty; see Trial::predicted
  std::vector<std::optional<Observation>> results;  ///< parallel to points; durable ones only
  std::size_t done = 0;
  bool complete() const { return done == points.size(); }
};

/// Builds space and inspector. Errors: kUnsupported if no template serves the task.
Result<std::unique_ptr<TaskState>> MakeTaskState(const TemplateRegistry& templates,
                                                 const TuneTask& task);

}  // namespace tilewright::search
