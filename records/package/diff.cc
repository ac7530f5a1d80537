#include "records/package/diff.h"

#include <map>
#include <tuple>

namespace tilewright::records {
namespace {

using Key = std::tuple<std::string, std::string, std::string>;

/// Keeps the fastest record of each task.
Status AddBest(const Store& store, std::optional<Record> TaskDifference::*side,
               std::map<Key, TaskDifference>& tasks) {
  TrialFilter filter;
  filter.outcome = Outcome::kOk;
  return store.ForEachTrial(filter, [&](const Record& record) -> Status {
    const Trial& trial = record.trial;
    if (!trial.verified) return {};
    const Key key{trial.candidate.task.workload.Key(), trial.candidate.task.target.ToString(),
                  trial.device.model};
    TaskDifference& task = tasks[key];
    std::tie(task.workload_key, task.target, task.device) = key;
    const auto place = [](const Record& r) {
      return std::pair(r.trial.value, r.trial.candidate.config.index);
    };
    std::optional<Record>& best = task.*side;
    if (!best.has_value() || place(record) < place(*best)) best = record;
    return {};
  });
}

}  // namespace

bool TaskDifference::same() const {
  return before.has_value() && after.has_value() &&
         before->trial.candidate.config.values == after->trial.candidate.config.values &&
         before->trial.candidate.template_key == after->trial.candidate.template_key &&
         before->trial.value == after->trial.value;
}

Result<std::vector<TaskDifference>> CompareBest(const Store& before, const Store& after) {
  std::map<Key, TaskDifference> tasks;
  TW_RETURN_IF_ERROR(AddBest(before, &TaskDifference::before, tasks));
  TW_RETURN_IF_ERROR(AddBest(after, &TaskDifference::after, tasks));
  std::vector<TaskDifference> list;
  for (auto& [key, task] : tasks) list.push_back(std::move(task));
  return list;
}

}  // namespace tilewright::records
