#pragma once

#include "search/registry.h"

namespace tilewright::search {

/// Returns the built-in strategies, created once.
inline const StrategyRegistry& BuiltInStrategies() {
  static const StrategyRegistry strategies = StrategyRegistry::BuiltIn();
  return strategies;
}

}  // namespace tilewright::search
