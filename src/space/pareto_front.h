#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright {

/// Whether a is nowhere larger than b and somewhere smaller. Of equal length.
bool Dominates(std::span<const double> a, std::span<const double> b);

/// Positions of the rows that no other one dominates (their Pareto front), by their first value,
/// then the next ones; of equal rows the first one's. rows: of equal length, smaller is better.
std::vector<std::size_t> ParetoFront(std::span<const std::vector<double>> rows);

}  // namespace tilewright
