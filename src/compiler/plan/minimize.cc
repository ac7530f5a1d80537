// Minimum of a sum of tables by elimination. All tables with a variable are merged into one, which
// has the variable's best value for each combination of the others. Back substitution gives the
// minimum. On a tree, no table has more variables than the largest original one. If cycles make
// tables grow, some variables are held at their current values.

#include "src/compiler/plan/minimize.h"

#include <algorithm>
#include <functional>
#include <set>

#include "src/base/status.h"

namespace tilewright {
namespace {

std::size_t Entries(std::span<const int> variables, std::span<const int> sizes) {
  std::size_t entries = 1;
  for (const int variable : variables) {
    entries *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(variable)]);
  }
  return entries;
}

std::size_t PositionOf(std::span<const int> variables, std::span<const int> sizes,
                       std::span<const int> values) {
  std::size_t position = 0;
  for (const int variable : variables) {
    const auto v = static_cast<std::size_t>(variable);
    position = position * static_cast<std::size_t>(sizes[v]) + static_cast<std::size_t>(values[v]);
  }
  return position;
}

/// Advances to the next combination of the variables' values; returns false after the last one.
bool Advance(std::span<const int> variables, std::span<const int> sizes, std::vector<int>& values) {
  for (std::size_t i = variables.size(); i-- > 0;) {
    const auto v = static_cast<std::size_t>(variables[i]);
    if (++values[v] < sizes[v]) return true;
    values[v] = 0;
  }
  return false;
}

/// One elimination of all variables, some of which are held.
class Elimination {
 public:
  Elimination(const CostSum& sum, std::span<const int> start, std::int64_t max_entries)
      : sizes_(sum.sizes),
        tables_(sum.tables),
        start_(start.begin(), start.end()),
        max_entries_(max_entries),
        left_(sum.sizes.size()),
        neighbours_(sum.sizes.size()) {
    // Variables with one value choose nothing and change no position in a table. As neighbors they
    // would join all of each other's neighbors, because no number of them makes a table grow.
    const auto chooses = [&](int v) { return sizes_[static_cast<std::size_t>(v)] > 1; };
    for (std::size_t v = 0; v < left_.size(); ++v) left_[v] = chooses(static_cast<int>(v));
    for (CostTable& table : tables_) std::erase_if(table.variables, std::not_fn(chooses));
    std::erase_if(tables_, [](const CostTable& table) { return table.variables.empty(); });
    for (const CostTable& table : tables_) Connect(table.variables);
  }

  /// wear: number of times that each variable was held before; the least often held come first.
  std::vector<int> Run(std::vector<int>& wear) {
    for (std::size_t round = 0; round < sizes_.size(); ++round) {
      int cheapest = -1;
      std::size_t least = 0;
      for (int variable = 0; variable < static_cast<int>(sizes_.size()); ++variable) {
        if (!left_[static_cast<std::size_t>(variable)]) continue;
        const std::size_t entries = EntriesAround(variable);
        if (cheapest < 0 || entries < least) cheapest = variable, least = entries;
      }
      if (cheapest < 0) break;
      const std::size_t whole =
          least * static_cast<std::size_t>(sizes_[static_cast<std::size_t>(cheapest)]);
      if (whole > static_cast<std::size_t>(max_entries_)) {
        Hold(MostConnected(wear));
        exact_ = false;
      } else {
        Eliminate(cheapest);
      }
    }
    std::vector<int> values = start_;
    for (std::size_t i = choices_.size(); i-- > 0;) {
      const KernelChoice& choice = choices_[i];
      values[static_cast<std::size_t>(choice.variable)] =
          choice.best[PositionOf(choice.given, sizes_, values)];
    }
    return values;
  }

  bool exact() const { return exact_; }

 private:
  /// Best value of a variable for each combination of others.
  struct KernelChoice {
    int variable;
    std::vector<int> given, best;
  };

  static bool Has(const CostTable& table, int variable) {
    return std::ranges::binary_search(table.variables, variable);
  }

  void Connect(std::span<const int> variables) {
    for (const int one : variables) {
      for (const int other : variables) {
        if (one != other) neighbours_[static_cast<std::size_t>(one)].insert(other);
      }
    }
  }

  /// Removes this variable from the others' neighbors.
  void Disconnect(int variable) {
    left_[static_cast<std::size_t>(variable)] = false;
    for (const int other : neighbours_[static_cast<std::size_t>(variable)]) {
      neighbours_[static_cast<std::size_t>(other)].erase(variable);
    }
  }

  /// Returns the number of combinations of the values of the variable's neighbors; capped at the
  /// limit.
  std::size_t EntriesAround(int variable) const {
    std::size_t entries = 1;
    for (const int other : neighbours_[static_cast<std::size_t>(variable)]) {
      entries *= static_cast<std::size_t>(sizes_[static_cast<std::size_t>(other)]);
      if (entries > static_cast<std::size_t>(max_entries_)) break;
    }
    return entries;
  }

  int MostConnected(std::vector<int>& wear) const {
    int most = -1;
    std::size_t degree = 0;
    for (int variable = 0; variable < static_cast<int>(sizes_.size()); ++variable) {
      if (!left_[static_cast<std::size_t>(variable)]) continue;
      const std::size_t own = neighbours_[static_cast<std::size_t>(variable)].size();
      const int worn = wear[static_cast<std::size_t>(variable)];
      const bool better = most < 0 || worn < wear[static_cast<std::size_t>(most)] ||
                          (worn == wear[static_cast<std::size_t>(most)] && own > degree);
      if (better) most = variable, degree = own;
    }
    ++wear[static_cast<std::size_t>(most)];
    return most;
  }

  /// Fixes the variable at its start value in its tables.
  void Hold(int variable) {
    Disconnect(variable);
    for (CostTable& table : tables_) {
      if (!Has(table, variable)) continue;
      CostTable slice;
      std::ranges::copy_if(table.variables, std::back_inserter(slice.variables),
                           [&](int other) { return other != variable; });
      std::vector<int> values(sizes_.size(), 0);
      values[static_cast<std::size_t>(variable)] = start_[static_cast<std::size_t>(variable)];
      do {
        slice.costs.push_back(table.costs[PositionOf(table.variables, sizes_, values)]);
      } while (Advance(slice.variables, sizes_, values));
      table = std::move(slice);
    }
  }

  void Eliminate(int variable) {
    Disconnect(variable);
    const std::set<int>& around = neighbours_[static_cast<std::size_t>(variable)];
    KernelChoice choice{variable, {around.begin(), around.end()}, {}};
    Connect(choice.given);
    CostTable joined{choice.given, {}};
    std::vector<CostTable> parts;
    for (const CostTable& table : tables_) {
      if (Has(table, variable)) parts.push_back(table);
    }
    std::erase_if(tables_, [&](const CostTable& table) { return Has(table, variable); });
    const auto v = static_cast<std::size_t>(variable);
    std::vector<int> values(sizes_.size(), 0);
    do {
      // The start's value comes first: others must cost less to replace it.
      int best = start_[v];
      const auto cost_of = [&](int value) {
        values[v] = value;
        double cost = 0;
        for (const CostTable& part : parts) {
          cost += part.costs[PositionOf(part.variables, sizes_, values)];
        }
        return cost;
      };
      double least = cost_of(best);
      for (int value = 0; value < sizes_[v]; ++value) {
        if (const double cost = cost_of(value); cost < least) best = value, least = cost;
      }
      values[v] = 0;
      choice.best.push_back(best);
      joined.costs.push_back(least);
    } while (Advance(choice.given, sizes_, values));
    choices_.push_back(std::move(choice));
    if (!joined.variables.empty()) tables_.push_back(std::move(joined));
  }

  std::span<const int> sizes_;
  std::vector<CostTable> tables_;
  std::vector<int> start_;
  std::int64_t max_entries_;
  std::vector<bool> left_;
  std::vector<std::set<int>> neighbours_;  // by variable: those that share a table with it
  std::vector<KernelChoice> choices_;
  bool exact_ = true;
};

}  // namespace

CostTable& CostSum::AddTable(std::vector<int> variables) {
  TW_CHECK(std::ranges::is_sorted(variables));
  const std::size_t entries = Entries(variables, sizes);
  tables.push_back({std::move(variables), std::vector<double>(entries, 0)});
  return tables.back();
}

double CostSum::At(std::span<const int> values) const {
  double cost = 0;
  for (const CostTable& table : tables) {
    cost += table.costs[PositionOf(table.variables, sizes, values)];
  }
  return cost;
}

CostMinimum Minimize(const CostSum& sum, std::vector<int> start, std::int64_t max_entries) {
  CostMinimum minimum{std::move(start), 0, false};
  minimum.cost = sum.At(minimum.values);
  constexpr int kMaxRounds = 32, kMaxInVain = 4;
  std::vector<int> wear(sum.sizes.size(), 0);
  for (int round = 0, vain = 0; round < kMaxRounds && vain < kMaxInVain; ++round) {
    Elimination elimination(sum, minimum.values, max_entries);
    std::vector<int> values = elimination.Run(wear);
    const double cost = sum.At(values);
    const bool better = cost < minimum.cost;
    vain = better ? 0 : vain + 1;
    if (better) minimum.values = std::move(values), minimum.cost = cost;
    minimum.exact = elimination.exact();
    if (minimum.exact) break;
  }
  return minimum;
}

}  // namespace tilewright
