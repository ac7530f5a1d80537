#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Creates a search by simulated annealing on a cost model that is trained during the search, with
/// a share of random points and a diversity filter. Proposes random points until there is data.
/// Chains continue from their positions, next to new ones that start at the fastest measured
/// configs.
std::unique_ptr<Strategy> MakeModelGuided(const StrategyContext& context);

/// Adds the trials of one task as a group of rows, scored by their speed relative to the fastest.
/// Skips trials that the present templates cannot describe.
void AddGroup(const StaticAnalyzer& analyzer, const std::vector<Observation>& trials,
              cost_model::Dataset& data);

/// Returns the training data of a cost model: the warm groups while own trials are few, then the
/// own trials (the fastest and the newest of them if there are very many).
cost_model::Dataset MakeDataset(const StaticAnalyzer& analyzer, const std::vector<Observation>& own,
                                const std::vector<WarmGroup>& warm);

}  // namespace tilewright::search
