#include "search/tune/warm_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/target/device.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kMaxGroups = 6;  // that a strategy starts with
constexpr std::int64_t kMaxGroupTrials = 64;
constexpr std::int64_t kMinGroupTrials = 16;  // fewer are too few to rank
constexpr std::int64_t kMaxRead = 20'000;     // of the store
// Races of other versions had about as many finalists; the search finds the others.
constexpr std::size_t kMaxStale = 8;
constexpr std::string_view kStorePrefix = "store:";

/// Returns the key of tasks that learn from one another first: those of one operator, or
/// expressions whose spaces follow from the same rules.
std::string StructureOf(const SearchSpace& space) {
  std::string structure(space.task.workload.op_name());
  if (space.task.workload.op != OpKind::kExpression) return structure;
  for (const TemplateEntry* entry : space.templates) structure += fmt::format(" {}", entry->key);
  return structure;
}

}  // namespace

Result<WarmPool> WarmPool::Load(const TemplateRegistry& templates, const records::Store& store,
                                std::int64_t job, const Target& target) {
  records::TrialFilter filter;
  filter.target = target.ToString();
  filter.limit = kMaxRead;
  Result<std::vector<records::Record>> records = store.Trials(filter);
  TW_RETURN_IF_ERROR(records);
  const int codegen_version = DeviceTraitsOf(target).codegen_version;
  WarmPool pool;
  std::map<std::string, Group*> by_key;  // null: no template serves it
  for (const records::Record& record : *records) {
    const Candidate& candidate = record.trial.candidate;
    if (record.job == job || record.trial.attempt != 0) continue;
    // The measurements of another version may rank configs differently.
    if (record.trial.codegen_version != codegen_version) continue;
    const std::string key = candidate.task.workload.Key();
    const auto [found, added] = by_key.try_emplace(key, nullptr);
    if (added) {
      Result<SearchSpace> space = MakeSearchSpace(templates, candidate.task, candidate.epilogue);
      if (!space.ok()) continue;
      auto group = std::make_unique<Group>();
      group->key = key;
      group->structure = StructureOf(*space);
      group->space = std::move(*space);
      group->analyzer = std::make_unique<TemplateAnalyzer>(group->space);
      found->second = group.get();
      pool.groups_.push_back(std::move(group));
    }
    Group* group = found->second;
    if (group == nullptr || std::ssize(group->trials) >= kMaxGroupTrials) continue;
    const Result<Point> point = Locate(group->space, candidate);
    if (!point.ok()) continue;
    group->trials.push_back(
        {*point, record.trial.outcome, record.trial.value, record.trial.noisy()});
  }
  return pool;
}

BeginEntry WarmPool::Choose(const std::vector<std::unique_ptr<TaskState>>& tasks, int task) const {
  const TaskState& own = *tasks[static_cast<std::size_t>(task)];
  const std::string structure = StructureOf(own.space);
  BeginEntry like, other;
  const auto offer = [&](std::string key, const std::string& its_structure, std::size_t trials) {
    const auto count = std::min<std::int64_t>(static_cast<std::int64_t>(trials), kMaxGroupTrials);
    if (count < kMinGroupTrials) return;
    (its_structure == structure ? like : other).warm.push_back({std::move(key), count});
  };
  for (const auto& state : tasks) {
    if (state->key != own.key) {
      offer(state->key, StructureOf(state->space), state->first_trials.size());
    }
  }
  for (const auto& group : groups_) {
    if (group->key != own.key) {
      offer(std::string(kStorePrefix) + group->key, group->structure, group->trials.size());
    }
  }
  like.warm.insert(like.warm.end(), other.warm.begin(), other.warm.end());
  if (like.warm.size() > kMaxGroups) like.warm.resize(kMaxGroups);
  return like;
}

std::vector<WarmGroup> WarmPool::Collect(const std::vector<std::unique_ptr<TaskState>>& tasks,
                                         const BeginEntry& begin) const {
  std::vector<WarmGroup> groups;
  const auto add = [&groups](const StaticAnalyzer& analyzer, const std::vector<Observation>& trials,
                             std::int64_t count) {
    WarmGroup group;
    group.analyzer = &analyzer;
    group.trials = trials;
    if (std::ssize(trials) > count) group.trials.resize(static_cast<std::size_t>(count));
    groups.push_back(std::move(group));
  };
  for (const BeginEntry::Source& source : begin.warm) {
    for (const auto& state : tasks) {
      if (state->key == source.key) add(*state->analyzer, state->first_trials, source.trials);
    }
    for (const auto& group : groups_) {
      if (std::string(kStorePrefix) + group->key == source.key) {
        add(*group->analyzer, group->trials, source.trials);
      }
    }
  }
  return groups;
}

Result<std::vector<Point>> StalePoints(const records::Store& store, const SearchSpace& space,
                                       const DeviceFingerprint& device) {
  records::TrialFilter filter;
  filter.workload_key = space.task.workload.Key();
  filter.target = space.task.target.ToString();
  filter.limit = kMaxRead;
  Result<std::vector<records::Record>> records = store.Trials(filter);
  TW_RETURN_IF_ERROR(records);
  const int codegen_version = DeviceTraitsOf(space.task.target).codegen_version;
  std::set<Point> current;
  std::vector<std::pair<double, Point>> stale;
  for (const records::Record& record : *records) {
    const Trial& trial = record.trial;
    if (trial.device.kind != device.kind || trial.device.model != device.model ||
        trial.device.isa != device.isa || trial.candidate.epilogue != space.epilogue) {
      continue;
    }
    // A knob may have another meaning or other values: the config is then only an approximation, or
    // invalid.
    Candidate candidate = trial.candidate;
    for (const TemplateEntry* entry : space.templates) {
      if (entry->key == candidate.template_key) candidate.template_version = entry->version;
    }
    const Result<Point> point = Locate(space, candidate);
    if (!point.ok()) continue;
    if (candidate.template_version == trial.candidate.template_version &&
        trial.codegen_version == codegen_version) {
      current.insert(*point);
    } else if (trial.outcome == Outcome::kOk && trial.verified) {
      stale.emplace_back(trial.value, *point);
    }
  }
  std::ranges::sort(stale);
  std::vector<Point> points;
  for (const auto& [value, point] : stale) {
    if (points.size() < kMaxStale && current.insert(point).second) points.push_back(point);
  }
  return points;
}

}  // namespace tilewright::search
