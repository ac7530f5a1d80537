#include "search/open/records_of_others.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "records/validation/schedules.h"
#include "src/templates/open/open_template.h"
#include "src/templates/registry.h"
#include "src/templates/template_keys.h"

namespace tilewright::search {
namespace {

constexpr std::int64_t kMaxRecordsRead = 20'000;  // of one task in a store

std::set<std::string> ParameterNames(const OpenTask& task) {
  std::set<std::string> names;
  for (const Parameter& parameter : task.space.parameters()) names.insert(parameter.name);
  return names;
}

bool IsSameKernel(const OpenTask& one, const OpenTask& other) {
  return one.name == other.name && one.metrics == other.metrics &&
         ProblemDistance(one.problem, other.problem) < HUGE_VAL &&
         ParameterNames(one) == ParameterNames(other);
}

}  // namespace

Status AddRecordsOfOthers(const records::Store& store, const OpenTask& task,
                          const DeviceFingerprint& device, std::vector<DeviceRecords>& groups) {
  TW_ASSIGN_OR_RETURN(auto texts, records::ScheduleTextsOf(store));
  // Neither this task nor tasks of other names are parsed: making their spaces can take long.
  const std::string prefix = std::string(kOpenTaskKeyPrefix) + task.name + "-";
  std::erase_if(texts, [&](const auto& text) {
    return text.first == task.key || !text.first.starts_with(prefix);
  });
  TemplateRegistry known;
  TW_RETURN_IF_ERROR(AddOpenTask(known, task));
  records::AddOpenTasks(texts, store.path(), known);
  std::set<std::string, std::less<>> alike;  // keys of templates
  std::set<std::string> workloads;
  for (const TemplateEntry& entry : known.all()) {
    if (entry.open == nullptr || !IsSameKernel(*entry.open, task)) continue;
    alike.emplace(entry.key);
    workloads.insert(entry.open->workload.Key());
  }
  std::map<std::string, DeviceRecords> by_source;
  records::TrialFilter filter;
  filter.target = task.target().ToString();
  filter.limit = kMaxRecordsRead;
  filter.valid_for = &known;
  const auto add = [&](const records::Record& record) -> Status {
    const Candidate& candidate = record.trial.candidate;
    const bool own =
        record.trial.device == device && candidate.task.workload.Key() == task.workload.Key();
    if (own || !alike.contains(candidate.template_key)) return {};
    const auto config = task.knobs.Locate(candidate.config);
    if (!config.ok()) return {};
    const bool fine = record.trial.outcome == Outcome::kOk && record.trial.verified;
    by_source[candidate.template_key + "\n" + record.trial.device.ToString()].values.emplace_back(
        Point{0, config->index}, fine ? record.trial.value : 0);
    return {};
  };
  for (const std::string& workload : workloads) {
    filter.workload_key = workload;
    TW_RETURN_IF_ERROR(store.ForEachTrial(filter, add));
  }
  for (auto& [source, records] : by_source) {
    const auto works = [](const auto& one) { return one.second > 0; };
    if (std::ranges::any_of(records.values, works)) groups.push_back(std::move(records));
  }
  return {};
}

}  // namespace tilewright::search
