#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright {

/// Costs of all combinations of the values of some variables.
struct CostTable {
  std::vector<int> variables;  ///< ascending
  std::vector<double> costs;   ///< row-major: the last variable's value changes fastest
};

/// Sum of tables over variables that have a few values each.
struct CostSum {
  std::vector<int> sizes;  ///< values of each variable, at least one
  std::vector<CostTable> tables;

  /// Adds a table of zeros over these variables (ascending), for the caller to fill.
  CostTable& AddTable(std::vector<int> variables);
  /// Returns the sum where variable i has values[i].
  double At(std::span<const int> values) const;
};

struct CostMinimum {
  std::vector<int> values;
  double cost = 0;
  bool exact = false;  ///< no combination costs less
};

/// Returns the cheapest combination. It is exact, by eliminating one variable after the other
/// (dynamic programming, if the tables form a tree), unless a table grows beyond `max_entries`.
/// Then some variables keep their values and the rest is minimized exactly, in turns, until nothing
/// gets cheaper. The result never costs more than `start`, whose values win ties. Deterministic.
CostMinimum Minimize(const CostSum& sum, std::vector<int> start,
                     std::int64_t max_entries = std::int64_t{1} << 14);

}  // namespace tilewright
