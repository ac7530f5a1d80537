#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Creates a search of every point in order of its index, alternating between the spaces.
std::unique_ptr<Strategy> MakeGrid(const StrategyContext& context);

}  // namespace tilewright::search
