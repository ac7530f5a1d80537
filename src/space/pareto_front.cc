#include "src/space/pareto_front.h"

#include <algorithm>
#include <numeric>

namespace tilewright {

bool Dominates(std::span<const double> a, std::span<const double> b) {
  bool smaller = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    smaller = smaller || a[i] < b[i];
  }
  return smaller;
}

std::vector<std::size_t> ParetoFront(std::span<const std::vector<double>> rows) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [rows](std::size_t i) { return rows[i]; });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    // In lexicographic order, rows come after the rows that dominate them, so the front so far
    // suffices.
    const bool beaten = std::ranges::any_of(front, [&](std::size_t other) {
      return rows[other] == rows[i] || Dominates(rows[other], rows[i]);
    });
    if (!beaten) front.push_back(i);
  }
  return front;
}

}  // namespace tilewright
