#pragma once

#include <string>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/quantize/config.h"

namespace tilewright::quantize {

/// Convolution or matrix product that stays float, and the reason.
struct FloatLayer {
  std::string name;
  OpKind op = OpKind::kConv2d;
  std::string reason;
};

/// Returns the reason why an anchor stays float, by the configuration or for lack of a rule; empty
/// if it becomes integer.
/// convolution: number of kConv2d before it, in post-order.
std::string ReasonForFloat(const Graph& graph, const Node& anchor, std::int64_t convolution,
                           const Config& config);

}  // namespace tilewright::quantize
