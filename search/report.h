#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "src/space/trial.h"

namespace tilewright::search {

/// State of one task of a job.
struct TaskReport {
  std::string key;  ///< of the workload
  std::string epilogue;
  std::int64_t occurrences = 1;
  std::int64_t macs = 0;
  std::int64_t space_size = 0;
  double default_seconds = 0;  ///< 0 if not measured, or not ok
  /// Value of the last race's winner; before the first race, of the fastest trial. 0 if none is ok.
  double best_seconds = 0;
  /// best_seconds of the race before the last one, if that was in an earlier run; else 0. Each race
  /// measures all of its configs again, so this value may be lower.
  double earlier_best_seconds = 0;
  double best_product_share = 1;  ///< of best_config, see ProductShareOf
  double current_seconds = 0;     ///< of the newest trial; 0 if it failed
  bool noisy = false;             ///< best_seconds is noisy and may be too long
  std::string best_template;
  Config best_config;
  /// Config that no other config beats in all metrics of the job.
  struct FrontEntry {
    std::vector<double> values;  ///< by metric
    std::string template_key;
    std::int64_t config = 0;
  };
  std::vector<FrontEntry> front;   ///< of a job with several metrics, by the first of them
  std::vector<std::int64_t> ties;  ///< configs of the race that are indistinguishable from the best
  std::int64_t trials = 0;
  std::int64_t disturbed_trials = 0;             ///< of them, noisy
  std::int64_t filtered = 0;                     ///< points that a static check rejected; no trials
  std::map<std::string, std::int64_t> failures;  ///< outcome name -> trials
  bool finished = false;         ///< no more trials: exhausted, stopped early, or the job has ended
  std::string finish_reason;     ///< "exhausted", "no improvement", "trials", "budget", "deadline",
                                 ///< "stopped"
  std::string no_result_reason;  ///< why no config is legal or none has a result; or empty

  double gflops(double seconds) const {
    return seconds > 0 ? 2e-9 * static_cast<double>(macs) / seconds : 0;
  }
};

/// State of a whole job.
struct TuneReport {
  /// Metric of the values. With another metric than "seconds", all members named …_seconds hold
  /// that metric, except times of the job itself.
  std::string metric = "seconds";
  std::vector<std::string> metrics;  ///< of a job with several metrics, `metric` first
  std::vector<TaskReport> tasks;
  std::int64_t trials = 0;  ///< all runs of the job
  std::int64_t trials_this_run = 0;
  double wall_seconds = 0;       ///< this run
  double trials_per_second = 0;  ///< this run
  measure::TimeSplit split;      ///< this run
  double model_seconds = 0;      ///< time in Ask and training, this run
  double resolution = 0;         ///< smallest difference that the device can resolve
  bool interrupted = false;      ///< stopped from outside; the same command resumes the job
  double elapsed_seconds = 0;    ///< all runs
  std::string end;               ///< why the search ended: as TaskReport::finish_reason

  /// Returns the share of the wall time in which neither a build nor a run was in progress.
  double idle_share() const {
    return split.wall_seconds > 0 ? split.idle_seconds / split.wall_seconds : 0;
  }
  /// Returns the sum of occurrences x default or best seconds over the tasks that have both, so
  /// that the two cover the same work.
  double default_network_seconds() const;
  double best_network_seconds() const;
};

/// Sums over the tasks that have a default and a best value, weighted by occurrences.
struct NetworkTimes {
  double standard = 0, best = 0;
  std::int64_t with = 0, without = 0;  ///< counted tasks and excluded tasks
  void Add(double default_value, double best_value, std::int64_t occurrences);
};
NetworkTimes TimesOfNetwork(const std::vector<TaskReport>& tasks);

/// Returns whether a best value is worse than the earlier one by more than the usual spread of a
/// measurement.
bool IsWorse(const TaskReport& task);

/// Formats the report as one line of JSON:
/// {"metric","trials","wall_seconds","trials_per_second","idle_share",…,"tasks":
/// [{"key","default_seconds","best_seconds","trials","failures":{reason:count},…}]}. With another
/// metric, for example default_cycles replaces default_seconds.
std::string ToJson(const TuneReport& report);

}  // namespace tilewright::search
