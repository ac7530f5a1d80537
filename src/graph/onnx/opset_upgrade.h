#pragma once

#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// What a node of the operator sets 1 to 6 (a BatchNormalization: to 8) means in the words of set
/// 7, the oldest that handlers know; empty if it is spelled the same there. Constants that became
/// inputs are added to the import.
/// Errors: kUnsupported for training; kInvalidArgument for operands that do not fit.
Result<std::optional<std::vector<onnx::NodeProto>>> UpgradeNode(const onnx::NodeProto& node,
                                                                OnnxImport& import);

}  // namespace tilewright
