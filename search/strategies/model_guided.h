#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Simulated annealing on a cost model that is learned while measuring, with a share of random
/// points and a diversity filter; random until there is data. Chains go on from where they stood,
/// next to new ones that start from the fastest configs measured.
std::unique_ptr<Strategy> MakeModelGuided(const StrategyContext& context);

/// Adds the trials of one task as a group of rows, scored by their speed relative to the fastest.
/// What can not be described any more (its template changed) is left out.
void AddGroup(const StaticAnalyzer& analyzer, const std::vector<Observation>& trials,
              cost_model::Dataset& data);

/// What a cost model learns from: the warm groups while own trials are few, then the own trials
/// (the fastest and the newest of them where there are very many).
cost_model::Dataset MakeDataset(const StaticAnalyzer& analyzer, const std::vector<Observation>& own,
                                const std::vector<WarmGroup>& warm);

}  // namespace tilewright::search
