#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Points at random without repetition.
std::unique_ptr<Strategy> MakeRandomSearch(const StrategyContext& context);

}  // namespace tilewright::search
