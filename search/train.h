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

/// Training data of a shipped cost model.
struct TrainingData {
  cost_model::Dataset data;        ///< one group per workload and target
  std::set<std::string> families;  ///< of the tasks; see FamilyOf
  std::int64_t tasks = 0;
  std::int64_t left_out = 0;  ///< trials that no present template describes, and trials of races
};

/// Loads the trials of all stores whose task `wanted` accepts, grouped by workload and target.
/// Skips groups of fewer than 16 trials, which are too small to rank, and trials of VTA targets,
/// because a shipped model evaluates loops. Errors: the stores'.
Result<TrainingData> LoadTrainingData(const TemplateRegistry& templates,
                                      const std::vector<const records::Store*>& stores,
                                      const std::function<bool(const Task&)>& wanted);

}  // namespace tilewright::search
