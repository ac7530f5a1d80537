#pragma once

#include <string>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// A sentence for each weight of a convolution or matrix product with elements that are infinite or
/// no numbers: what a kernel makes of them depends on whether it multiplies the padding's zeros.
std::vector<std::string> NonFiniteWeightNotes(const Graph& graph);

}  // namespace tilewright
