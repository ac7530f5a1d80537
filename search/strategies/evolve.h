#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// For large spaces: generations of configs bred by crossover and mutation of the knobs' digits
/// from the fastest measured and from chance. Many are scored for each that is measured: by an
/// estimate (cost_model/analytical_cost.h) at first, and more and more by a model that learns
/// meanwhile. When nothing gets better it goes down the coordinates of the best. Where a trial
/// costs no more than a look at a candidate does (IsSimulated) it learns nothing, and looks at few.
std::unique_ptr<Strategy> MakeEvolve(const StrategyContext& context);

}  // namespace tilewright::search
