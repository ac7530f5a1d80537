#include "search/train.h"

#include <map>
#include <memory>
#include <utility>

#include "search/space.h"
#include "search/strategies/model_guided.h"
#include "search/zero_shot.h"
#include "src/target/device.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kMinTrials = 16;

struct Group {
  SearchSpace space;
  std::vector<Observation> trials;
};

}  // namespace

Result<TrainingData> LoadTrainingData(const TemplateRegistry& templates,
                                      const std::vector<const records::Store*>& stores,
                                      const std::function<bool(const Task&)>& wanted) {
  TrainingData training;
  std::map<std::string, std::unique_ptr<Group>> groups;  // null: no template serves it
  for (const records::Store* store : stores) {
    const auto records = store->Trials({});
    if (!records.ok()) return records.status().WithContext(store->path());
    for (const records::Record& record : *records) {
      const Candidate& candidate = record.trial.candidate;
      if (!wanted(candidate.task)) continue;
      const auto [found, added] = groups.try_emplace(
          candidate.task.workload.Key() + "\n" + candidate.task.target.ToString(), nullptr);
      if (added) {
        // Features of candidates without loops have other meanings, and would mislead the model.
        const bool described = DeviceTraitsOf(candidate.task.target).loops;
        Result<SearchSpace> space = MakeSearchSpace(templates, candidate.task, candidate.epilogue);
        if (space.ok() && described)
          found->second = std::make_unique<Group>(Group{std::move(*space), {}});
      }
      const Result<Point> point = found->second == nullptr || record.trial.attempt != 0
                                      ? Result<Point>(NotFound("not used for training"))
                                      : Locate(found->second->space, candidate);
      if (!point.ok()) {
        ++training.left_out;
        continue;
      }
      found->second->trials.push_back(
          {*point, record.trial.outcome, record.trial.value, record.trial.noisy()});
    }
  }
  for (const auto& [name, group] : groups) {
    if (group == nullptr || group->trials.size() < kMinTrials) continue;
    AddGroup(TemplateAnalyzer(group->space), group->trials, training.data);
    training.families.insert(FamilyOf(group->space.task));
    ++training.tasks;
  }
  return training;
}

}  // namespace tilewright::search
