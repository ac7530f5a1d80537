#pragma once

#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/relay/syntax.h"

namespace tilewright::relay {

/// Returns the attributes of the call that represents an operator, in the order in which Relay
/// declares them, without defaults.
std::vector<Attribute> WriteAttributes(const Graph& graph, const Node& node);

/// Returns whether a node reshapes `data` to a matrix that keeps the first dimension. Relay has an
/// operator of its own for it.
bool IsBatchFlatten(const Node& node, const TensorType& data);

}  // namespace tilewright::relay
