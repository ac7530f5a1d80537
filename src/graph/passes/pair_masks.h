#pragma once

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Makes masks of pairs of positions, [.., n, n], from values of single positions, for attention
/// over an open number of positions: a constant of two values along a diagonal (a causal mask)
/// becomes a select by the numbers of row and column, and a value that is repeated to all pairs is
/// read as it is. Each operator that reads such a mask gets one of its own, so that its kernel can
/// compute it. Constants need contents.
Result<Graph> ComputePairMasks(Graph graph);

}  // namespace tilewright
