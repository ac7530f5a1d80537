#pragma once

#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/relay/syntax.h"

namespace tilewright::relay {

/// Of the call that an operator becomes, in the order in which Relay declares them, defaults left
/// out.
std::vector<Attribute> WriteAttributes(const Graph& graph, const Node& node);

/// A reshape of `data` to a matrix that keeps the first dimension has a name of its own.
bool IsBatchFlatten(const Node& node, const TensorType& data);

}  // namespace tilewright::relay
