#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// A steady-state genetic algorithm over the knobs' digits: parents are the fastest points told so
/// far, children are crossed within one space and mutated; one in ten is random.
std::unique_ptr<Strategy> MakeGenetic(const StrategyContext& context);

}  // namespace tilewright::search
