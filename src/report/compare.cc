#include "src/report/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::report {
namespace {

struct Compared {
  const JobPage* job = nullptr;
  const TaskPage* task = nullptr;
};

/// Returns the newest value of each task; jobs are newest first.
std::map<std::string, Compared> NewestOf(const Document& document) {
  std::map<std::string, Compared> tasks;
  for (const JobPage& job : document.jobs) {
    for (const TaskPage& task : job.tasks) {
      if (task.best_value <= 0) continue;
      tasks.emplace(task.metric + "\n" + task.key + "\n" + task.epilogue, Compared{&job, &task});
    }
  }
  return tasks;
}

/// Returns the lower end of the interval, at least 1 % of the value.
double LowEnd(double value, double noise) { return value * std::max(0.01, 1 - noise); }

ComparedTask TaskOf(const Compared& here, const Compared& there) {
  ComparedTask row;
  row.name = here.task->name;
  row.key = here.task->key;
  row.target = here.task->target;
  row.device = here.job->device;
  row.other_device = there.job->device;
  row.metric = here.task->metric;
  row.occurrences = here.task->occurrences;
  row.value = here.task->best_value;
  row.noise = here.task->best_noise;
  row.other_value = there.task->best_value;
  row.other_noise = there.task->best_noise;
  row.ratio = row.other_value / row.value;
  row.low = LowEnd(row.other_value, row.other_noise) / (row.value * (1 + row.noise));
  row.high = row.other_value * (1 + row.other_noise) / LowEnd(row.value, row.noise);
  row.template_key = here.task->best_template;
  row.config = here.task->best_config;
  row.other_template = there.task->best_template;
  row.other_config = there.task->best_config;
  row.verdict = row.low > 1 ? "faster" : row.high < 1 ? "slower" : "same";
  return row;
}

}  // namespace

Comparison Compare(const Document& document, const Document& other, const std::string& store,
                   const std::string& other_store) {
  Comparison comparison;
  comparison.store = store;
  comparison.other = other_store;
  const auto here = NewestOf(document), there = NewestOf(other);
  double low = 0, high = 0, low_other = 0, high_other = 0;
  const auto timed = [&there](const auto& entry) {
    return entry.second.task->metric == "seconds" && there.contains(entry.first);
  };
  for (const auto& [key, task] : here) {
    if (std::ranges::any_of(here, timed)) break;
    if (there.contains(key)) comparison.metric = task.task->metric;
  }
  for (const auto& [key, task] : here) {
    const auto match = there.find(key);
    if (match == there.end()) {
      comparison.only_here.push_back(task.task->name);
      continue;
    }
    ComparedTask row = TaskOf(task, match->second);
    const auto uses = row.metric == comparison.metric ? static_cast<double>(row.occurrences) : 0;
    comparison.total += uses * row.value;
    comparison.other_total += uses * row.other_value;
    low += uses * LowEnd(row.value, row.noise);
    high += uses * row.value * (1 + row.noise);
    low_other += uses * LowEnd(row.other_value, row.other_noise);
    high_other += uses * row.other_value * (1 + row.other_noise);
    comparison.tasks.push_back(std::move(row));
  }
  for (const auto& [key, task] : there) {
    if (!here.contains(key)) comparison.only_there.push_back(task.task->name);
  }
  if (comparison.total > 0) {
    comparison.low = low_other / high;
    comparison.high = high_other / low;
  }
  std::ranges::stable_sort(comparison.tasks, std::greater(), [](const ComparedTask& row) {
    return static_cast<double>(row.occurrences) * std::abs(row.other_value - row.value);
  });
  return comparison;
}

}  // namespace tilewright::report
