#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "src/space/trial.h"

namespace tilewright::search {

/// One task of a job as it stands.
struct TaskReport {
  std::string key;  ///< of the workload
  std::string epilogue;
  std::int64_t occurrences = 1;
  std::int64_t macs = 0;
  std::int64_t space_size = 0;
  double default_seconds = 0;  ///< 0 if not measured, or not ok
  /// Of the winner of the last race; before the first race, of the fastest trial. 0 if none is ok.
  double best_seconds = 0;
  /// best_seconds of the race before the last one, if that was in an earlier run; else 0. Races
  /// measure all of their configs again, so this one may be lower.
  double earlier_best_seconds = 0;
  double best_product_share = 1;  ///< of best_config, see ProductShareOf
  double current_seconds = 0;     ///< of the newest trial; 0 if it failed
  bool noisy = false;             ///< best_seconds was measured in noise and may be too long
  std::string best_template;
  Config best_config;
  /// A config that no other one beats in all metrics of the job.
  struct FrontEntry {
    std::vector<double> values;  ///< by metric
    std::string template_key;
    std::int64_t config = 0;
  };
  std::vector<FrontEntry> front;   ///< of a job with several metrics, by the first of them
  std::vector<std::int64_t> ties;  ///< configs of the race that can not be told from the best
  std::int64_t trials = 0;
  std::int64_t disturbed_trials = 0;  ///< of them, measured in noise
  std::int64_t filtered = 0;          ///< considered and refused by a static check; no trials
  std::map<std::string, std::int64_t> failures;  ///< outcome name -> trials
  bool finished = false;      ///< no more trials: exhausted, stopped early, or the job is over
  std::string finish_reason;  ///< "exhausted", "no improvement", "trials", "budget", "deadline",
                              ///< "stopped"

  double gflops(double seconds) const {
    return seconds > 0 ? 2e-9 * static_cast<double>(macs) / seconds : 0;
  }
};

/// A whole job.
struct TuneReport {
  /// What the values of trials are. With another metric than "seconds" all that is called …_seconds
  /// here, but for times of the job itself, counts that.
  std::string metric = "seconds";
  std::vector<std::string> metrics;  ///< of a job that has several, `metric` first
  std::vector<TaskReport> tasks;
  std::int64_t trials = 0;  ///< all lives of the job
  std::int64_t trials_this_run = 0;
  double wall_seconds = 0;       ///< this run
  double trials_per_second = 0;  ///< this run
  measure::TimeSplit split;      ///< this run
  double model_seconds = 0;      ///< asking and learning, this run
  double resolution = 0;         ///< smallest difference the device can tell
  bool interrupted = false;      ///< stopped from outside; the same command goes on

  /// Share of the wall time in which neither a build nor a run was under way.
  double idle_share() const {
    return split.wall_seconds > 0 ? split.idle_seconds / split.wall_seconds : 0;
  }
  /// Sum of occurrences x default or best seconds over the tasks that have both, so that the two
  /// compare the same work.
  double default_network_seconds() const;
  double best_network_seconds() const;
};

/// Sums over the tasks that have a default and a best value, each as often as it is used.
struct NetworkTimes {
  double standard = 0, best = 0;
  std::int64_t with = 0, without = 0;  ///< tasks that are counted and that are left out
  void Add(double default_value, double best_value, std::int64_t occurrences);
};
NetworkTimes TimesOfNetwork(const std::vector<TaskReport>& tasks);

/// Whether a best value is worse than the earlier one by more than a measurement's usual spread.
bool IsWorse(const TaskReport& task);

/// "tie of 3": the winner and the configs that cannot be told from it; empty without any.
std::string TieText(std::size_t ties);

/// One line of JSON: {"metric","trials","wall_seconds","trials_per_second","idle_share",…,"tasks":
/// [{"key","default_seconds","best_seconds","trials","failures":{reason:count},…}]}; with another
/// metric default_cycles, say, takes the place of default_seconds.
std::string ToJson(const TuneReport& report);

}  // namespace tilewright::search
