#include "search/registry.h"

#include <algorithm>
#include <array>

#include "search/strategies/automatic.h"
#include "search/strategies/evolve.h"
#include "search/strategies/genetic.h"
#include "search/strategies/grid.h"
#include "search/strategies/model_guided.h"
#include "search/strategies/random_search.h"
#include "search/strategies/surrogate.h"
#include "src/base/plugin_key.h"

namespace tilewright::search {
namespace {

constexpr std::array kStrategies = {
    StrategyEntry{
        "auto",
        "surrogate in open spaces, evolve where trials are counted or the space is large, "
        "else model",
        &MakeAutomatic},
    StrategyEntry{"evolve",
                  "crossover and mutation, scored by an estimate and a learned cost model",
                  &MakeEvolve},
    StrategyEntry{"genetic", "crossover and mutation of the fastest configs", &MakeGenetic},
    StrategyEntry{"grid", "every config in order of the index", &MakeGrid},
    StrategyEntry{"model", "simulated annealing on a learned cost model", &MakeModelGuided},
    StrategyEntry{"random", "configs at random", &MakeRandomSearch},
    StrategyEntry{"surrogate", "expected improvement on a Gaussian process of the knobs' values",
                  &MakeSurrogate},
};
static_assert(std::ranges::is_sorted(kStrategies, {}, &StrategyEntry::key));
static_assert(std::ranges::adjacent_find(kStrategies, {}, &StrategyEntry::key) ==
              kStrategies.end());

}  // namespace

StrategyRegistry StrategyRegistry::BuiltIn() {
  StrategyRegistry registry;
  registry.entries_.assign(kStrategies.begin(), kStrategies.end());
  return registry;
}

Status StrategyRegistry::Add(const StrategyEntry& entry) {
  const std::string name = "strategy '" + std::string(entry.key) + "'";
  if (!IsPluginKey(entry.key)) {
    return InvalidArgument(name + ": expected a key " + std::string(kPluginKeyFormat));
  }
  if (Find(entry.key) != nullptr) return InvalidArgument(name + ": the key exists already");
  if (entry.make == nullptr) return InvalidArgument(name + ": the make function is missing");
  entries_.insert(std::ranges::lower_bound(entries_, entry.key, {}, &StrategyEntry::key), entry);
  return {};
}

const StrategyEntry* StrategyRegistry::Find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &StrategyEntry::key);
  return found != entries_.end() ? &*found : nullptr;
}

}  // namespace tilewright::search
