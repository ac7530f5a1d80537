#include "search/registry.h"

#include <algorithm>
#include <array>

#include "search/strategies/genetic.h"
#include "search/strategies/grid.h"
#include "search/strategies/model_guided.h"
#include "search/strategies/random_search.h"

namespace tilewright::search {
namespace {

constexpr std::array kStrategies = {
    StrategyEntry{"genetic", "crossover and mutation of the fastest configs", &MakeGenetic},
    StrategyEntry{"grid", "every config in order of the index", &MakeGrid},
    StrategyEntry{"model", "simulated annealing on a learned cost model", &MakeModelGuided},
    StrategyEntry{"random", "configs at random", &MakeRandomSearch},
};
static_assert(std::ranges::is_sorted(kStrategies, {}, &StrategyEntry::key));
static_assert(std::ranges::adjacent_find(kStrategies, {}, &StrategyEntry::key) ==
              kStrategies.end());

}  // namespace

std::span<const StrategyEntry> Strategies() { return kStrategies; }

const StrategyEntry* FindStrategy(std::string_view key) {
  for (const StrategyEntry& entry : kStrategies) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

}  // namespace tilewright::search
