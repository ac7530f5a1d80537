#pragma once

#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Expands a reduction or a cumulative sum whose axis is computed at run time into the same
/// operators with constant axes: computes all candidates and selects one result. The candidate axes
/// of a reduction are those that give the result's declared shape (declared_shapes.h). Empty for
/// any other node, if no axis is possible, and if the shape alone determines the axis.
std::optional<std::vector<onnx::NodeProto>> ExpandComputedAxis(const onnx::NodeProto& node,
                                                               OnnxImport& import);

}  // namespace tilewright
