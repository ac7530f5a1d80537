#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::search {

class StrategyRegistry;

/// What a tuning job is asked to do. As a file: one JSON object whose keys are the names below
/// (all optional); unknown keys are an error.
struct JobSettings {
  // What is tuned; the program's arguments take precedence.
  std::string graph;  ///< model file, relative to the working folder
  std::string target = "native";
  int threads = 1;      ///< a kernel may use
  std::string records;  ///< record store
  // Where it is measured, if not here (docs/fleet.md).
  std::string fleet;                    ///< address of the broker, or a file that has it
  std::string fleet_class;              ///< of the devices; empty: the one that fits
  std::string priority = "normal";      ///< "low", "normal", "high"
  double share = 1;                     ///< of its priority
  double broker_timeout_seconds = 600;  ///< without a broker: the job ends, to be gone on with
  // How the model file is read (docs/graphs.md#sizes-and-values-that-a-file-leaves-open).
  std::vector<std::string> shape;  ///< "x=1x3x320x320"
  std::vector<std::string> dim;    ///< "height=320"
  std::vector<std::string> value;  ///< "sr=16000"
  std::string requantize = "float";
  /// "strict": only templates whose float results differ by the order of sums alone.
  std::string float_error = "bounded";

  // How long.
  std::int64_t trials = 0;    ///< of the whole job; 0 = no limit
  double budget_seconds = 0;  ///< wall time over all lives of the job; 0 = no limit. JSON: a number
                              ///< or a text such as "90s", "10m", "8h"
  /// The job is over then, races and all: a time or a duration, see ParseDeadline; empty: whenever.
  std::string deadline;
  std::int64_t min_trials_per_task = 16;
  std::int64_t early_stop_trials = 256;  ///< of one task without improvement; 0 = never
  double early_stop_improvement = 0.01;  ///< what counts as one, relative

  /// Metrics whose Pareto front is searched, the target's own first; empty: that one alone. JSON: a
  /// text or a list of texts.
  std::vector<std::string> metric;

  // How it searches.
  std::string strategy = "auto";  ///< key of a StrategyRegistry
  std::uint64_t seed = 1;
  int batch = 8;           ///< points asked at once
  double epsilon = 0.1;    ///< share of random points among the model's
  bool warm_start = true;  ///< learn from trials of other tasks in the store
  int finalists = 4;       ///< raced at the end of a task; 0 = none

  friend bool operator==(const JobSettings&, const JobSettings&) = default;
};

/// Errors: kInvalidArgument as "file:line: key: value, expected …" for an unknown key, a wrong type
/// or a value out of range. `file` is only for messages.
Result<JobSettings> ParseJobSettings(const StrategyRegistry& strategies, std::string_view json,
                                     std::string_view file);
Result<JobSettings> LoadJobSettings(const StrategyRegistry& strategies, const std::string& path);
/// As for those of a file. Errors: kInvalidArgument as "key: value, expected …".
Status CheckJobSettings(const StrategyRegistry& strategies, const JobSettings& settings);
/// JSON object with every key in a fixed order (of how the file is read, and of the error, only
/// what was said); parses back to the same value.
std::string ToJson(const JobSettings& settings);
/// Seconds of "90", "90s", "10m", "8h" or "1.5h". Errors: kInvalidArgument.
Result<double> ParseDuration(std::string_view text);

}  // namespace tilewright::search
