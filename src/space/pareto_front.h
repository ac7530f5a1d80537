#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright {

/// Returns true if no element of a is larger than b's and at least one is smaller. Equal lengths.
bool Dominates(std::span<const double> a, std::span<const double> b);

/// Returns the positions of the rows that no other row dominates (the Pareto front), ordered by
/// their first value, then the next ones. Of equal rows, returns the first. rows: of equal length,
/// smaller is better.
std::vector<std::size_t> ParetoFront(std::span<const std::vector<double>> rows);

}  // namespace tilewright
