#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Creates a Bayesian optimization without template-specific features: a Gaussian process over the
/// knobs' values predicts the logarithm of the time. Proposes the points with the largest expected
/// improvement, times the probability of success. For expensive trials in any space. Enumerates the
/// legal points if they are few; else samples them and improves the best one by hill climbing.
std::unique_ptr<Strategy> MakeSurrogate(const StrategyContext& context);

}  // namespace tilewright::search
