#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Creates an evolutionary search for large spaces. Crossover and mutation of the knobs' digits
/// produce generations of configs from the fastest measured ones and random ones. Many candidates
/// are scored for each measured one: first by an estimate (cost_model/analytical_cost.h), later
/// increasingly by a model that is trained during the search. Without improvement, a coordinate
/// descent starts at the best config. For simulated targets (IsSimulated), where a trial costs no
/// more than an analysis, it trains no model and scores few candidates.
std::unique_ptr<Strategy> MakeEvolve(const StrategyContext& context);

}  // namespace tilewright::search
