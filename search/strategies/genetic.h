#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Creates a steady-state genetic algorithm over the knobs' digits. Parents are the fastest
/// observed points; children are crossed within one space and mutated; one point in ten is random.
std::unique_ptr<Strategy> MakeGenetic(const StrategyContext& context);

}  // namespace tilewright::search
