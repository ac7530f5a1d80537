#pragma once

#include <span>
#include <string_view>

#include "src/target/target.h"

namespace tilewright::cost_model {

/// Estimates the cost of a candidate by counting, to rank candidates before any measurement. For
/// loops on a CPU: cycles, from the issue slots of its units, the bytes that cross into each cache
/// level, and register spills. For a VTA stream: the time of its busiest engine, or its bytes,
/// according to the target's metric. Lower is better; 0 if there is no estimate (grids).
/// row: FeatureCount() features of the candidate from ExtractLoopFeatures or ExtractStreamFeatures.
double AnalyticalCost(const Target& target, std::span<const float> row);
/// As above, for another metric of the target; 0 also if the features do not cover the metric.
double AnalyticalCost(const Target& target, std::string_view metric, std::span<const float> row);

/// Estimates the cycles of loops on a CPU.
double AnalyticalLoopCost(const Target& target, std::span<const float> row);

}  // namespace tilewright::cost_model
