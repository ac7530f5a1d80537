#pragma once

#include <span>
#include <string_view>

#include "src/target/target.h"

namespace tilewright::cost_model {

/// What a candidate takes by counting, for the order in which candidates are looked at while
/// nothing has been measured: of loops on a processor cycles, by what its units issue, what
/// crosses into each level of the caches, and what the registers do not hold; of a VTA's stream
/// what its busiest engine takes, or its bytes, by the target's metric. Lower is better; 0 where
/// nobody can tell (grids).
/// row: FeatureCount() features of the candidate, as ExtractLoopFeatures or ExtractStreamFeatures
/// gave them.
double AnalyticalCost(const Target& target, std::span<const float> row);
/// By another metric of the target; 0 also where the features do not say it.
double AnalyticalCost(const Target& target, std::string_view metric, std::span<const float> row);

/// Of loops on a processor: cycles.
double AnalyticalLoopCost(const Target& target, std::span<const float> row);

}  // namespace tilewright::cost_model
