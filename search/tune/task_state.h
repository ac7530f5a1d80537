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

/// State of one task while its job runs: the space, the strategy, and the results so far.
///
/// Only the strategy thread uses the strategy; the thread of Tune uses everything else.
struct TaskState {
  TuneTask input;
  std::string key;  ///< of its log entries and records: the workload's key
  SearchSpace space;
  std::unique_ptr<StaticAnalyzer> analyzer;
  std::unique_ptr<Strategy> strategy;  ///< created at the task's first Ask
  TaskReport report;

  /// Results that the strategy has not observed yet, in the order in which it will.
  std::vector<Observation> pending_observations;
  /// The first observed trials, for other tasks to learn from.
  std::vector<Observation> first_trials;
  /// Fastest of all observed, 0 if none is ok. With several metrics: the mean of the best of each
  /// direction (FrontDirections), which improves whenever the front does.
  double observed_best_seconds = 0;
  double observed_product_share = 1;  ///< of the fastest of all observed
  /// The fastest verified points, fastest first; with defer_verification, all points.
  std::vector<Observation> fastest;
  /// The fastest noisy ones: each may be faster than measured.
  std::vector<Observation> noisy_contenders;
  /// Of a job with several metrics: every result that is ok and verified; with defer_verification,
  /// every ok result.
  std::vector<Observation> measured;
  std::set<Point> wrong;  ///< of `measured`: points with wrong results
  std::set<Point> right;  ///< of `measured`, with defer_verification: verified points
  std::optional<Observation> observed_default;  ///< observation of default_point, if it is ok
  std::optional<Point> default_point;
  std::optional<BestEntry> raced;
  /// Trials arrive unverified and only the fastest is verified at the end, because the device
  /// counts and verification takes much longer than a trial.
  bool defer_verification = false;
  std::int64_t last_attempt = 0;  ///< highest attempt number of any race
  std::int64_t last_batch = -1;   ///< the newest batch proposed for this task

  /// Transfer of a training job to the training thread and back to the strategy.
  std::mutex training_mutex;                  ///< guards the three members below
  std::unique_ptr<TrainingJob> training_job;  ///< to be run next
  std::unique_ptr<TrainingJob> learned;
  bool learning = false;

  std::vector<double> observed_bests;  ///< by direction; see observed_best_seconds

  /// Returns ProductShareOf for the point's config.
  double ShareOf(Point point) const;
  /// Adds a durable result to the report and to `fastest`, and counts the trial.
  void Note(const Observation& observed, bool verified, std::size_t keep_fastest);
  /// Records whether another execution of the point verified its result.
  void RecordVerification(const Point& point, bool fine);
  /// Returns those of `measured` that no other one beats in all metrics, by the first one.
  std::vector<Observation> Front() const;
  /// Returns those of Front whose results are verified.
  std::vector<Observation> VerifiedFront() const;
  /// Returns the candidate's point in the space; nullopt if no present template produced it.
  std::optional<Point> PointOf(const Candidate& candidate) const;
  /// Adds one result to the data that decisions depend on, in the strategy's order of observations.
  void Tell(const Observation& observed);

 private:
  void UpdateFront(const Observation& observed);
};

/// Batch of points in the measurement pipeline.
struct BatchState {
  std::int64_t number = 0;
  int task = 0;
  std::vector<Point> points;
  std::vector<float> scores;  ///< parallel to points, or empty; see Trial::predicted
  std::vector<std::optional<Observation>> results;  ///< parallel to points; durable ones only
  std::size_t done = 0;
  bool complete() const { return done == points.size(); }
};

/// Builds space and analyzer. Errors: kUnsupported if no template serves the task.
Result<std::unique_ptr<TaskState>> MakeTaskState(const TemplateRegistry& templates,
                                                 const TuneTask& task);

}  // namespace tilewright::search
