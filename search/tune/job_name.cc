#include "search/tune/job_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "search/job_log.h"
#include "src/base/hash.h"

namespace tilewright::search {
namespace {

/// Clears the settings that only limit the job or choose its racers: a job can be resumed with
/// other ones.
JobSettings WithoutLimits(JobSettings settings) {
  const JobSettings defaults;
  settings.graph = defaults.graph;
  // The tasks already reflect how the file was read.
  settings.shape = defaults.shape;
  settings.dim = defaults.dim;
  settings.sizes = defaults.sizes;
  settings.value = defaults.value;
  settings.requantize = defaults.requantize;
  settings.precision = defaults.precision;
  settings.records = defaults.records;
  settings.fleet = defaults.fleet;
  settings.fleet_class = defaults.fleet_class;
  settings.priority = defaults.priority;
  settings.share = defaults.share;
  settings.broker_timeout_seconds = defaults.broker_timeout_seconds;
  settings.deadline = defaults.deadline;
  settings.trials = defaults.trials;
  settings.budget_seconds = defaults.budget_seconds;
  settings.early_stop_trials = defaults.early_stop_trials;
  settings.early_stop_improvement = defaults.early_stop_improvement;
  settings.finalists = defaults.finalists;
  return settings;
}

}  // namespace

std::string JobName(const std::vector<TuneTask>& tasks, const JobSettings& settings,
                    std::vector<std::string> only_templates, int life) {
  std::string text = ToJson(WithoutLimits(settings));
  for (const TuneTask& task : tasks) {
    text += "\n" + task.task.workload.Key() + " " + task.task.target.ToString() + " " +
            task.epilogue.ToString() + " " + std::to_string(task.occurrences);
    if (task.weight != 1) text += fmt::format(" {:.9g}", task.weight);
  }
  std::ranges::sort(only_templates);
  only_templates.erase(std::ranges::unique(only_templates).begin(), only_templates.end());
  for (const std::string& key : only_templates) text += "\nonly " + key;
  return HexOf(Fnv1a64(text)) + (life == 0 ? "" : "." + std::to_string(life));
}

Status KeepEarlierDefault(const records::Store& store, const std::vector<TuneTask>& tasks,
                          const std::vector<std::string>& only_templates, int life,
                          JobSettings& settings) {
  if (settings.strategy != JobSettings().strategy) return {};
  JobSettings earlier = settings;
  earlier.strategy = "model";
  const std::string name = JobName(tasks, settings, only_templates, life);
  const std::string earlier_name = JobName(tasks, earlier, only_templates, life);
  TW_ASSIGN_OR_RETURN(std::vector<records::Job> jobs, store.Jobs());
  bool begun = false;
  for (const records::Job& job : jobs) {
    if (job.name == name) return {};
    begun = begun || job.name == earlier_name;
  }
  if (begun) settings = std::move(earlier);
  return {};
}

Result<JobProgress> ProgressOf(const records::Store& store, const std::vector<TuneTask>& tasks,
                               JobSettings settings,
                               const std::vector<std::string>& only_templates) {
  TW_RETURN_IF_ERROR(KeepEarlierDefault(store, tasks, only_templates, 0, settings));
  TW_ASSIGN_OR_RETURN(const std::vector<records::Job> jobs, store.Jobs());
  std::optional<std::int64_t> last;  // the newest log of the job
  for (int life = 0;; ++life) {
    const std::string name = JobName(tasks, settings, only_templates, life);
    const auto place = std::ranges::find(jobs, name, &records::Job::name);
    if (place == jobs.end()) break;
    last = place->id;
  }
  JobProgress progress;
  if (!last) return progress;
  TW_ASSIGN_OR_RETURN(const auto entries, store.LogOfKind(*last, "time"));
  TW_ASSIGN_OR_RETURN(const JobLog log, DecodeJobLog(entries));
  TimeEntry before;
  for (const TimeEntry& time : log.times) {
    if (time.wall_seconds < before.wall_seconds) before = {};  // another run
    progress.trials += std::max<std::int64_t>(0, time.trials - before.trials);
    progress.elapsed_seconds = std::max(progress.elapsed_seconds, time.elapsed_seconds);
    before = time;
  }
  return progress;
}

}  // namespace tilewright::search
