// Final report of a job.

#include "search/report.h"

#include "src/base/json.h"

namespace tilewright::search {
namespace {

/// A value that prints as the same number is not worse.
constexpr double kWorse = 1.005;

/// Returns the number, or null for zero, which means that there is no value.
Json OrNull(double seconds) { return seconds > 0 ? Json(seconds) : Json(nullptr); }

Json TaskJson(const TaskReport& task, const std::string& metric) {
  Json json = Json::object();
  json["key"] = task.key;
  json["epilogue"] = task.epilogue;
  json["occurrences"] = task.occurrences;
  json["macs"] = task.macs;
  json["space_size"] = task.space_size;
  json["default_" + metric] = OrNull(task.default_seconds);
  json["best_" + metric] = OrNull(task.best_seconds);
  if (task.earlier_best_seconds > 0) json["earlier_best_" + metric] = task.earlier_best_seconds;
  if (metric == "seconds") json["best_gflops"] = OrNull(task.gflops(task.best_seconds));
  json["disturbed"] = task.noisy;
  json["trials"] = task.trials;
  json["disturbed_trials"] = task.disturbed_trials;
  json["filtered"] = task.filtered;
  json["failures"] = Json::object();
  for (const auto& [reason, count] : task.failures) json["failures"][reason] = count;
  json["template"] = task.best_template;
  json["config"] = task.best_seconds > 0 ? Json(task.best_config.index) : Json(nullptr);
  json["ties"] = task.ties;
  for (const TaskReport::FrontEntry& one : task.front) {
    json["front"].push_back(
        {{"values", one.values}, {"template", one.template_key}, {"config", one.config}});
  }
  json["finish"] = task.finish_reason;
  if (!task.no_result_reason.empty()) json["reason"] = task.no_result_reason;
  return json;
}

}  // namespace

void NetworkTimes::Add(double default_value, double best_value, std::int64_t occurrences) {
  if (default_value <= 0 || best_value <= 0) {
    ++without;
    return;
  }
  ++with;
  standard += static_cast<double>(occurrences) * default_value;
  best += static_cast<double>(occurrences) * best_value;
}

NetworkTimes TimesOfNetwork(const std::vector<TaskReport>& tasks) {
  NetworkTimes times;
  for (const TaskReport& task : tasks) {
    times.Add(task.default_seconds, task.best_seconds, task.occurrences);
  }
  return times;
}

double TuneReport::default_network_seconds() const { return TimesOfNetwork(tasks).standard; }
double TuneReport::best_network_seconds() const { return TimesOfNetwork(tasks).best; }

bool IsWorse(const TaskReport& task) {
  return task.earlier_best_seconds > 0 && task.best_seconds > kWorse * task.earlier_best_seconds;
}

std::string ToJson(const TuneReport& report) {
  Json json = Json::object();
  json["metric"] = report.metric;
  if (!report.metrics.empty()) json["metrics"] = report.metrics;
  json["trials"] = report.trials;
  json["trials_this_run"] = report.trials_this_run;
  json["wall_seconds"] = report.wall_seconds;
  json["trials_per_second"] = report.trials_per_second;
  json["idle_share"] = report.idle_share();
  Json split = Json::object();
  split["runner_busy_seconds"] = report.split.runner_busy_seconds;
  split["runner_timing_seconds"] = report.split.runner_timing_seconds;
  split["builder_busy_seconds"] = report.split.builder_busy_seconds;
  split["model_seconds"] = report.model_seconds;
  split["idle_seconds"] = report.split.idle_seconds;
  json["time_split"] = split;
  json["resolution"] = report.resolution;
  json["interrupted"] = report.interrupted;
  json["end"] = report.end;
  json["elapsed_seconds"] = report.elapsed_seconds;
  json["default_network_" + report.metric] = report.default_network_seconds();
  json["best_network_" + report.metric] = report.best_network_seconds();
  json["tasks_without_time"] = TimesOfNetwork(report.tasks).without;
  json["tasks"] = Json::array();
  for (const TaskReport& task : report.tasks) {
    json["tasks"].push_back(TaskJson(task, report.metric));
  }
  return DumpJson(json);
}

}  // namespace tilewright::search
