#pragma once

#include "search/registry.h"

namespace tilewright::search {

/// The strategies of this program, made once.
inline const StrategyRegistry& BuiltInStrategies() {
  static const StrategyRegistry strategies = StrategyRegistry::BuiltIn();
  return strategies;
}

}  // namespace tilewright::search
