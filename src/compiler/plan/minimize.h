#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright {

/// What each combination of the values of some variables costs.
struct CostTable {
  std::vector<int> variables;  ///< ascending
  std::vector<double> costs;   ///< row-major: the last variable's value changes fastest
};

/// A sum of tables over variables, each of which has one of a few values.
struct CostSum {
  std::vector<int> sizes;  ///< values of each variable, at least one
  std::vector<CostTable> tables;

  /// A table of zeros over these variables (ascending), to be filled in.
  CostTable& AddTable(std::vector<int> variables);
  /// The sum where variable i has values[i].
  double At(std::span<const int> values) const;
};

struct CostMinimum {
  std::vector<int> values;
  double cost = 0;
  bool exact = false;  ///< no combination costs less
};

/// The cheapest combination. Exact by eliminating one variable after the other (dynamic
/// programming, if the tables form a tree) as long as no table grows beyond `max_entries`; else
/// variables are fixed where they are, the rest is minimized exactly, and others are fixed the next
/// time, until nothing gets cheaper. Never dearer than `start`, whose values are kept on ties.
/// Deterministic.
CostMinimum Minimize(const CostSum& sum, std::vector<int> start,
                     std::int64_t max_entries = std::int64_t{1} << 14);

}  // namespace tilewright
