#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::search {

class StrategyRegistry;

/// Settings of a tuning job. As a file: one JSON object whose keys are the names below (all
/// optional); unknown keys are an error.
struct JobSettings {
  // Model and target; the program's arguments take precedence.
  std::string graph;  ///< model file, relative to the working directory
  std::string target = "native";
  int threads = 1;      ///< threads of a kernel
  std::string records;  ///< record store
  // Where to measure, if not on this machine (docs/fleet.md).
  std::string fleet;                    ///< address of the broker, or a file that contains it
  std::string fleet_class;              ///< class of the devices; empty: the class that fits
  std::string priority = "normal";      ///< "low", "normal", "high"
  double share = 1;                     ///< weight within its priority
  double broker_timeout_seconds = 600;  ///< the job ends, and can be resumed, if the broker is
                                        ///< unreachable for this long
  // How to read the model file (docs/graphs.md#open-sizes-and-values).
  std::vector<std::string> shape;  ///< "x=1x3x320x320"
  std::vector<std::string> dim;    ///< "height=320"
  std::string sizes;               ///< file of observed sizes of a range: lines "size,count"
  std::vector<std::string> value;  ///< "sr=16000"
  std::string requantize = "float";
  std::string precision = "model";
  /// "strict": only templates whose float results differ only by the order of summation.
  std::string float_error = "bounded";

  // Program to tune instead of a model (docs/howto-open.md); the names of the options of `tune`.
  std::string space;  ///< file, relative to the working directory; empty: no program
  std::string command, build, check, name;
  bool shell = false;
  std::string input = "none";    ///< "none", "json", "server"
  std::vector<std::string> env;  ///< "OMP_NUM_THREADS={threads}"
  /// Where the program runs, in place of this machine's CPU: JSON of ParseEnvironment. In a file an
  /// object or its text.
  std::string environment;
  double time_limit = 60;    ///< seconds of one run of the program
  double build_limit = 600;  ///< seconds of one build

  // Limits.
  std::int64_t trials = 0;    ///< of the whole job; 0 = no limit
  double budget_seconds = 0;  ///< wall time over all runs of the job; 0 = no limit. JSON: a number
                              ///< or a text such as "90s", "10m", "8h"
  /// End of the job with its races: a time or a duration, see ParseDeadline; empty: none.
  std::string deadline;
  std::int64_t min_trials_per_task = 16;
  std::int64_t early_stop_trials = 256;  ///< of one task without improvement; 0 = never
  double early_stop_improvement = 0.01;  ///< minimum relative improvement

  /// Metrics of the Pareto front, the target's own first; empty: the target's metric only. JSON: a
  /// text or a list of texts.
  std::vector<std::string> metric;

  // Search.
  std::string strategy = "auto";  ///< key of a StrategyRegistry
  std::uint64_t seed = 1;
  int batch = 8;           ///< points per Ask
  double epsilon = 0.1;    ///< share of random points in proposals of a model
  bool warm_start = true;  ///< learn from trials of other tasks in the store
  int finalists = 4;       ///< racers at the end of a task; 0 = no race

  friend bool operator==(const JobSettings&, const JobSettings&) = default;
};

/// Parses a job file. Errors: kInvalidArgument as "file:line: key: value, expected …" for an
/// unknown key, a wrong type or a value out of range. `file` is only for messages.
Result<JobSettings> ParseJobSettings(const StrategyRegistry& strategies, std::string_view json,
                                     std::string_view file);
Result<JobSettings> LoadJobSettings(const StrategyRegistry& strategies, const std::string& path);
/// Checks settings as those of a file. Errors: kInvalidArgument as "key: value, expected …".
Status CheckJobSettings(const StrategyRegistry& strategies, const JobSettings& settings);
/// Formats the settings as a JSON object with the keys in a fixed order. Lists, and the settings in
/// kLate (job.cc), appear only if they differ from the default. Parses back to the same value.
std::string ToJson(const JobSettings& settings);
/// Parses "90", "90s", "10m", "8h" or "1.5h" to seconds. Errors: kInvalidArgument.
Result<double> ParseDuration(std::string_view text);

}  // namespace tilewright::search
