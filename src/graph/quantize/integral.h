#pragma once

#include "src/graph/graph.h"

namespace tilewright::quantize {

/// Whether everything between the first and the last integers of a graph works on integers.
/// Errors: kUnsupported listing the operators on floats in between.
Status CheckIntegral(const Graph& graph);

}  // namespace tilewright::quantize
