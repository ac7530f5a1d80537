#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cost_model/cost_model.h"
#include "search/static_analyzer.h"
#include "search/strategy.h"
#include "src/base/callback.h"

namespace tilewright::search {

/// Trials of another task, to learn from before own ones exist. What is pointed to outlives the
/// strategy.
struct WarmGroup {
  const StaticAnalyzer* analyzer = nullptr;
  std::vector<Observation> trials;
};

/// What counts how much where a job has several metrics: the product of the values to these powers
/// is to be small.
struct MetricWeight {
  std::string metric;
  double weight = 1;
};

/// What a strategy is made of. What is pointed to outlives the strategy.
struct StrategyContext {
  const SearchSpace* space = nullptr;
  const StaticAnalyzer* analyzer = nullptr;
  std::uint64_t seed = 1;
  double epsilon = 0.1;  ///< share of random points among those a model proposes
  /// Makes an untrained cost model; strategies that learn need it.
  std::function<std::unique_ptr<cost_model::CostModel>()> make_model;
  std::vector<WarmGroup> warm;
  std::vector<Point> first;           ///< to be proposed before all others
  std::vector<MetricWeight> weights;  ///< empty: the target's metric alone
};

struct StrategyEntry {
  std::string_view key;  ///< stored in jobs; never reused, never renamed
  std::string_view summary;
  Callback<std::unique_ptr<Strategy>(const StrategyContext&)> make;
};

/// The strategies there are: those of this program, and what was added to them. Made once, where a
/// program starts, and passed on.
class StrategyRegistry {
 public:
  /// Those of this program.
  static StrategyRegistry BuiltIn();
  /// Adds one that is not of this program; what the entry points to outlives the registry.
  /// Errors: kInvalidArgument for a key that is there already or is no IsPluginKey.
  Status Add(const StrategyEntry& entry);

  /// All of them, sorted by key.
  std::span<const StrategyEntry> all() const { return entries_; }
  /// Null if there is none.
  const StrategyEntry* Find(std::string_view key) const;

 private:
  std::vector<StrategyEntry> entries_;
};

}  // namespace tilewright::search
