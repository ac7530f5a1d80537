#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Values of a graph that is being read which are known although operators make them: those that
/// follow from constants alone. They are computed when somebody asks, so the operators stay (the
/// contents of constants may be replaced later: SeedConstants).
class KnownValues {
 public:
  /// Contents of a constant, or of what operators make of constants; null for what is computed
  /// while the network runs, for values of more than kMaxElements elements, and once so much was
  /// computed that reading would take long. Valid as long as this and the graph, whose nodes only
  /// become more.
  const Tensor* Find(const Graph& graph, int id);

  /// Elements of a value, on the way to another one too.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 16;
  /// Multiplications, and elements made, of all values.
  static constexpr std::int64_t kMaxWork = std::int64_t{1} << 28;

 private:
  bool Compute(const Graph& graph, int id);

  std::map<int, Tensor> computed_;
  std::set<int> unknown_;
  std::int64_t work_ = 0;
};

}  // namespace tilewright
