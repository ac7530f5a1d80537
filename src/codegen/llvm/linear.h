#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tilewright::emit {

/// Index as constant + lane * (lane number) + sum of coefficient * atom. An atom is a run-time
/// integer: a loop variable, or a value that is not linear in them (the Indexer keeps the list).
struct Linear {
  std::int64_t constant = 0;
  std::int64_t lane = 0;
  std::vector<std::pair<int, std::int64_t>> terms;  ///< (atom, coefficient != 0), ascending atoms

  static Linear Constant(std::int64_t value) { return {value, 0, {}}; }
  static Linear Atom(int atom) { return {0, 0, {{atom, 1}}}; }
  bool is_constant() const { return lane == 0 && terms.empty(); }
  friend bool operator==(const Linear&, const Linear&) = default;
};

/// Least and greatest value, both inclusive.
struct Range {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// Returns a + factor * b.
Linear AddScaled(const Linear& a, const Linear& b, std::int64_t factor);

}  // namespace tilewright::emit
