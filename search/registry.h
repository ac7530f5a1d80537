#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cost_model/cost_model.h"
#include "search/inspector.h"
#include "search/strategy.h"

namespace tilewright::search {

/// Trials of another task, to learn from before own ones exist. What is pointed to outlives the
/// strategy.
struct WarmGroup {
  const Inspector* inspector = nullptr;
  std::vector<Told> trials;
};

/// What a strategy is made of. What is pointed to outlives the strategy.
struct StrategyContext {
  const SearchSpace* space = nullptr;
  const Inspector* inspector = nullptr;
  std::uint64_t seed = 1;
  double epsilon = 0.1;  ///< share of random points among those a model proposes
  /// Makes an untrained cost model; strategies that learn need it.
  std::function<std::unique_ptr<cost_model::CostModel>()> make_model;
  std::vector<WarmGroup> warm;
  std::vector<Point> first;  ///< to be proposed before all others
};

struct StrategyEntry {
  std::string_view key;  ///< stored in jobs; never reused, never renamed
  std::string_view summary;
  std::unique_ptr<Strategy> (*make)(const StrategyContext& context);
};

/// All strategies, sorted by key.
std::span<const StrategyEntry> Strategies();
/// Null if there is none.
const StrategyEntry* FindStrategy(std::string_view key);

}  // namespace tilewright::search
