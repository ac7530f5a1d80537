#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Creates a search that proposes random points without repetition.
std::unique_ptr<Strategy> MakeRandomSearch(const StrategyContext& context);

}  // namespace tilewright::search
