#pragma once

#include <string>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/quantize/config.h"

namespace tilewright::quantize {

/// A convolution or matrix product that stays float, and why.
struct FloatLayer {
  std::string name;
  OpKind op = OpKind::kConv2d;
  std::string reason;
};

/// Why an anchor stays float by the configuration or for want of a rule; empty if it does not.
/// convolution: how many kConv2d are in front of it, in post-order.
std::string ReasonForFloat(const Graph& graph, const Node& anchor, std::int64_t convolution,
                           const Config& config);

}  // namespace tilewright::quantize
