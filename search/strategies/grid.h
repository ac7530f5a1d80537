#pragma once

#include <memory>

#include "search/registry.h"

namespace tilewright::search {

/// Every point in order of its index, the spaces taking turns.
std::unique_ptr<Strategy> MakeGrid(const StrategyContext& context);

}  // namespace tilewright::search
