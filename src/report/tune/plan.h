#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "records/store.h"
#include "search/job.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/runtime/roofline.h"
#include "src/target/target.h"

// Forecast of a tuning job from stored records, rooflines and estimates, without measuring.

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::report {

/// Share of the distance between the present value and the lower bound that a search gains, as the
/// median of the tasks of earlier jobs (docs/tuning-table.md).
inline constexpr double kUsualGain = 1.0 / 3;

/// Forecast of one task. Values are in the metric of the plan; 0: unknown.
struct PlannedTask {
  std::string key, name;
  std::int64_t uses = 1;
  std::int64_t configs = 0;  ///< size of the space
  double now = 0;            ///< of the config that `compile` would choose
  bool estimated = false;    ///< `now` is not measured: an estimate of the default config
  double bound = 0;          ///< roofline
  double expected = 0;       ///< after the search

  /// Returns uses x (now - bound): the most that the network can gain from the task.
  double Headroom() const;
};

/// Sums of a plan over the tasks whose `now` and `bound` are known.
struct PlanTotals {
  double now = 0, bound = 0, expected = 0;
  std::int64_t with = 0;
  std::int64_t estimated = 0;  ///< of them
};

struct TunePlan {
  std::string metric = "seconds";
  std::vector<PlannedTask> tasks;  ///< in the order of the job
  std::int64_t trials = 0;         ///< that this run of the job is expected to make
  double seconds = 0;              ///< that it is expected to take, races included
  double seconds_per_trial = 0;
  /// Source of seconds_per_trial: stored trials, builds of default configs, or a usual value.
  enum class Rate : std::uint8_t { kUsual, kOfBuilds, kOfTrials };
  Rate rate = Rate::kUsual;
  std::int64_t earlier_trials = 0;  ///< of earlier runs of the job
  double earlier_seconds = 0;       ///< their time
  std::string ends_by;              ///< "trials", "budget", "deadline", or "no improvement"

  PlanTotals Totals() const;
  /// Returns the tasks with the largest headroom first.
  std::vector<const PlannedTask*> ByHeadroom() const;
};

/// Input of a plan besides tasks and settings. Pointees outlive the call.
struct PlanSources {
  const TemplateRegistry* templates = nullptr;
  const records::Store* store = nullptr;  ///< null: no record is known
  DeviceFingerprint device;
  MachinePeaks peaks;  ///< zeros: no estimate of default configs on a CPU
  int builders = 1;
  std::vector<std::string> only_templates;  ///< TuneContext::only_templates
  /// Without stored trials, the plan builds some default configs in this process to know the time
  /// of a build. False: it uses a usual time.
  bool times_builds = false;
};

/// Returns the roofline of each task in the target's metric: with peaks of this machine, for CPUs,
/// or without, for simulators; zeros for other devices.
std::vector<RooflineBound> BoundsOf(const std::vector<search::TuneTask>& tasks,
                                    const Target& target, const MachinePeaks& peaks);

/// Returns the highest peaks of this machine: those measured now, in the user's data folder, and in
/// the store, which keeps them if it may be written. Zeros if peaks of such devices are not
/// measured. Errors: those of the store.
Result<MachinePeaks> PeaksOfStore(const Target& target, const DeviceFingerprint& device,
                                  const records::Store* known, records::Store* kept);

/// Makes the plan of a job. tasks: with bounds. names: parallel to tasks.
/// Errors: those of making spaces and of the store.
Result<TunePlan> MakeTunePlan(const std::vector<search::TuneTask>& tasks,
                              const std::vector<std::string>& names,
                              const search::JobSettings& settings, const PlanSources& sources);

/// Formats a plan as a table, with the reasons of its numbers. columns: width of the table, at
/// least 80; 0: no limit, no name is cut.
std::string PlanText(const TunePlan& plan, int columns = 80);
/// Returns what there is to gain in a few lines of at most 80 columns, for the start of a job;
/// empty if nothing is known.
std::string HeadroomText(const TunePlan& plan);
/// {"metric","trials","seconds","now_seconds",…,"tasks":[{"key","name","uses","configs",…}]}; null
/// for unknown values.
nlohmann::ordered_json PlanJson(const TunePlan& plan);

}  // namespace tilewright::report
