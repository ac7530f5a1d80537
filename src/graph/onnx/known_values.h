#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Values of a graph under import that operators compute from constants alone. They are computed on
/// request and the operators stay in the graph, because the contents of constants may be replaced
/// later (SeedConstants).
class KnownValues {
 public:
  /// Returns the contents of a constant or of a value computed from constants. Returns null for
  /// values computed at run time, for values of more than kMaxElements elements, and after kMaxWork
  /// is used up. The result is valid as long as this object and the graph, to which nodes may only
  /// be added.
  const Tensor* Find(const Graph& graph, int id);

  /// Maximum number of elements of a value and of the values that it is computed from.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 16;
  /// Maximum number of multiplications and computed elements, over all values.
  static constexpr std::int64_t kMaxWork = std::int64_t{1} << 28;

 private:
  bool Compute(const Graph& graph, int id);

  std::map<int, Tensor> computed_;
  std::set<int> unknown_;
  std::int64_t work_ = 0;
};

}  // namespace tilewright
