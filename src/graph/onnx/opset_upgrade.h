#pragma once

#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Upgrades a node of opsets 1 to 6 (BatchNormalization: 1 to 8) to opset 7, the oldest that
/// handlers support. Empty if the node is the same in opset 7. Adds attributes that became inputs
/// to the import as constants.
/// Returns kUnsupported for training nodes; kInvalidArgument for operands that do not fit.
Result<std::optional<std::vector<onnx::NodeProto>>> UpgradeNode(const onnx::NodeProto& node,
                                                                OnnxImport& import);

}  // namespace tilewright
