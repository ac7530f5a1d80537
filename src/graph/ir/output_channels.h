#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// The one dimension that counts an anchor's output channels, of its result and of its weight.
struct OutputChannels {
  std::size_t result = 0, weight = 0;
};

/// Nothing where several dimensions make them up: blocked layouts, depthwise kernels in HWOI.
std::optional<OutputChannels> OutputChannelsOf(const Graph& graph, const Node& anchor);

/// Whether operator `sum` adds `operand` to an anchor's result, with one element per channel.
bool IsBias(const Graph& graph, int sum, int operand);

/// How many dimensions are behind the one that the scales of mark `id` count: of a weight its
/// outputs, of a bias its channels; 0 for one scale. `users` is Graph::Users().
/// Errors: kInvalidArgument for a mark without scales, or with a number of them that its user has
/// no dimension for (they may come from a text).
Result<std::size_t> TrailingDimensionsOfScales(const Graph& graph,
                                               const std::vector<std::vector<int>>& users, int id);

}  // namespace tilewright
