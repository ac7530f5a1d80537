#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cost_model/cost_model.h"
#include "search/static_analyzer.h"
#include "search/strategy.h"
#include "src/base/callback.h"

namespace tilewright::search {

/// Trials of another task that a strategy learns from before the task has its own. The pointees
/// have to outlive the strategy.
struct WarmGroup {
  const StaticAnalyzer* analyzer = nullptr;
  std::vector<Observation> trials;
};

/// Times of the points of the same space on another device. Failed points have the value 0.
struct DeviceRecords {
  std::vector<std::pair<Point, double>> values;
};

/// Weight of a metric in a job with several: the search minimizes the product of the values to
/// these powers.
struct MetricWeight {
  std::string metric;
  double weight = 1;
};

/// Arguments of a strategy's constructor. The pointees have to outlive the strategy.
struct StrategyContext {
  const SearchSpace* space = nullptr;
  const StaticAnalyzer* analyzer = nullptr;
  std::uint64_t seed = 1;
  double epsilon = 0.1;  ///< share of random points among the proposals of a model
  /// Creates an untrained cost model; required by strategies that learn.
  std::function<std::unique_ptr<cost_model::CostModel>()> make_model;
  std::vector<WarmGroup> warm;
  std::vector<DeviceRecords> records;  ///< of other devices; the strategy `surrogate` uses them
  std::vector<Point> first;            ///< points to propose before all others
  std::vector<MetricWeight> weights;   ///< empty: the target's metric only
};

struct StrategyEntry {
  std::string_view key;  ///< stored in jobs; never reused, never renamed
  std::string_view summary;
  Callback<std::unique_ptr<Strategy>(const StrategyContext&)> make;
};

/// Registry of the built-in and added strategies. Created once at program start and passed by
/// reference.
class StrategyRegistry {
 public:
  /// Returns a registry with the built-in strategies.
  static StrategyRegistry BuiltIn();
  /// Adds a strategy. The entry's pointees have to outlive the registry. Errors: kInvalidArgument
  /// for a key that exists or that is not an IsPluginKey.
  Status Add(const StrategyEntry& entry);

  /// Returns all strategies, sorted by key.
  std::span<const StrategyEntry> all() const { return entries_; }
  /// Returns null if the key does not exist.
  const StrategyEntry* Find(std::string_view key) const;

 private:
  std::vector<StrategyEntry> entries_;
};

}  // namespace tilewright::search
