#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/registry.h"
#include "search/strategy.h"

namespace tilewright::search {

/// The directions in which a front of so many metrics is looked for: the weights of each metric,
/// which sum to 1. Each metric alone, all alike, and half way between.
std::vector<std::vector<double>> FrontDirections(std::size_t metrics);

/// The product of the values to the powers of the weights: one number for several metrics, whatever
/// their units. values: positive, as many as weights.
double WeightedValue(std::span<const double> values, std::span<const double> weights);

/// A search for the Pareto front of several metrics: one strategy of the entry's kind for each
/// direction, asked by turns. Each is told all results, as the value in its direction.
/// metrics: at least two, that of the target first; Told::values is parallel to them.
std::unique_ptr<Strategy> MakeFrontSearch(const StrategyEntry& entry,
                                          const StrategyContext& context,
                                          const std::vector<std::string>& metrics);

}  // namespace tilewright::search
