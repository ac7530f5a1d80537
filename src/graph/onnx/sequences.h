#pragma once

#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Whether a node makes or reads sequences or optional values, and nothing else does it.
bool IsSequenceOperator(const onnx::NodeProto& node);

/// What stands in the place of a node that makes or reads sequences or optional values: nodes of
/// tensors, maybe none. A sequence is a list of names of tensors while reading (OnnxImport), so its
/// length must be known. Nothing if the node is none of them. most_nodes: of the result.
/// Errors: kInvalidArgument for wrong types and positions, kUnsupported for what is computed while
/// the network runs and for more than `most_nodes`, both without the node's name. With an error the
/// import keeps no part of the result.
Result<std::optional<std::vector<onnx::NodeProto>>> ExpandSequence(const onnx::NodeProto& node,
                                                                   std::int64_t most_nodes,
                                                                   OnnxImport& import);

}  // namespace tilewright
