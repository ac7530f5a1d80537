#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/onnx/node.h"

namespace tilewright {

/// Nodes of a graph, in the order of the file.
using OnnxNodes = std::vector<const onnx::NodeProto*>;

/// Describes a node for messages: "node 3 'conv1' (Conv)", with an output if it has no name.
std::string DescribeNode(const onnx::NodeProto& node, int position);

/// Returns the positions of the nodes in topological order. Of several ready nodes the first in the
/// file comes first.
/// Errors: kInvalidArgument for an undefined value, a value defined twice, or a cycle.
Result<std::vector<int>> NodeOrder(const OnnxNodes& nodes, const OnnxImport& import);

}  // namespace tilewright
