#pragma once

#include <vector>

#include "src/graph/graph.h"

namespace tilewright {

/// Made-up contents of the constants of efficientnet_fused_int16.relay: the five of a call belong
/// together (weight, bias, multiplier, rounding, shift), and zero points are those of the text.
void SeedFragment(Graph& graph);
/// The input that its expected results were computed for.
std::vector<Tensor> FragmentInputs(const Graph& graph);

}  // namespace tilewright
