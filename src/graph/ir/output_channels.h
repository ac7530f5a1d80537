#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Dimension of an anchor's result, and of its weight, that counts the output channels.
struct OutputChannels {
  std::size_t result = 0, weight = 0;
};

/// Returns nullopt if several dimensions form the channels: blocked layouts, depthwise kernels in
/// HWOI.
std::optional<OutputChannels> OutputChannelsOf(const Graph& graph, const Node& anchor);

/// Returns true if operator `sum` adds `operand` to an anchor's result, with one element per
/// channel.
bool IsBias(const Graph& graph, int sum, int operand);

/// Returns the number of dimensions after the one that the scales of annotation `id` belong to: the
/// outputs of a weight, or the channels of a bias; 0 for one scale. `users` is Graph::Users().
/// Errors: kInvalidArgument if an annotation has no scales, or if their number matches no dimension
/// of its user (they may come from a text).
Result<std::size_t> TrailingDimensionsOfScales(const Graph& graph,
                                               const std::vector<std::vector<int>>& users, int id);

}  // namespace tilewright
