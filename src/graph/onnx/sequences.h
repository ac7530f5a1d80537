#pragma once

#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Returns whether an operator is defined only for sequences or optional values.
bool IsSequenceOperator(const onnx::NodeProto& node);

/// Returns the nodes on tensors, possibly none, that replace a node that creates or reads sequences
/// or optional values. During import a sequence is a list of tensor names (OnnxImport), so its
/// length must be constant. Returns nothing for other nodes. most_nodes: limit of the result.
/// Returns kInvalidArgument for invalid types and positions, kUnsupported for positions and lengths
/// computed at run time and for more than `most_nodes` nodes. Messages do not contain the node's
/// name. After an error the import contains no part of the result.
Result<std::optional<std::vector<onnx::NodeProto>>> ExpandSequence(const onnx::NodeProto& node,
                                                                   std::int64_t most_nodes,
                                                                   OnnxImport& import);

}  // namespace tilewright
