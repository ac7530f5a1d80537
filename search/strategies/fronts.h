#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/registry.h"
#include "search/strategy.h"

namespace tilewright::search {

/// Returns the search directions for a front of `metrics` metrics: the weights of each metric,
/// which sum to 1. Each metric alone, all equal, and half way between.
std::vector<std::vector<double>> FrontDirections(std::size_t metrics);

/// Returns the product of the values to the powers of the weights: one number for several metrics,
/// independent of their units. values: positive, as many as weights.
double WeightedValue(std::span<const double> values, std::span<const double> weights);

/// Creates a search for the Pareto front of several metrics: one strategy of the entry's kind for
/// each direction, which propose in turn. Each observes all results, as the value in its direction.
/// metrics: at least two, the target's first; Observation::values is parallel to them.
std::unique_ptr<Strategy> MakeFrontSearch(const StrategyEntry& entry,
                                          const StrategyContext& context,
                                          const std::vector<std::string>& metrics);

}  // namespace tilewright::search
