#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cost_model/cost_model.h"
#include "records/store.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::search {

/// What a shipped cost model learns from.
struct TrainingData {
  cost_model::Dataset data;        ///< one group per workload and target
  std::set<std::string> families;  ///< of the tasks; see FamilyOf
  std::int64_t tasks = 0;
  std::int64_t left_out = 0;  ///< trials that no present template describes, and those of races
};

/// The trials of all stores whose task `wanted` accepts, grouped by workload and target. Groups of
/// fewer than 16 trials are left out: they say nothing about ranks. Trials of VTA targets are left
/// out too: a shipped model judges loops. Errors: the stores'.
Result<TrainingData> LoadTrainingData(const TemplateRegistry& templates,
                                      const std::vector<const records::Store*>& stores,
                                      const std::function<bool(const Task&)>& wanted);

}  // namespace tilewright::search
