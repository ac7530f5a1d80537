#pragma once

#include <string>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Returns a note for each weight of a convolution or matrix product that has infinite or NaN
/// elements. The result of such a kernel depends on whether it multiplies the zeros of the padding.
std::vector<std::string> NonFiniteWeightNotes(const Graph& graph);

}  // namespace tilewright
