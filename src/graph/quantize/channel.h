#pragma once

#include <cstddef>
#include <vector>

#include "src/graph/graph.h"

namespace tilewright::quantize {

/// The dimension of an anchor's result that counts its output channels (plain layouts only).
std::size_t ChannelDimension(const Node& anchor);

/// The dimension of an anchor's weight that counts them.
std::size_t OutputDimension(const Operator& anchor);

/// The dimension that the scales of mark `id` count: of a weight its outputs, of a bias its
/// channels; 0 for one scale. `users` is Graph::Users().
/// Errors: kInvalidArgument for a mark without scales, or with a number of them that fits no
/// dimension (they may come from a text).
Result<std::size_t> ScaleDimension(const Graph& graph, const std::vector<std::vector<int>>& users,
                                   int id);

}  // namespace tilewright::quantize
