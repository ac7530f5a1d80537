#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Shapes that a file declares for values that its nodes make: outputs and value_info whose
/// dimensions are all numbers.
DeclaredShapes DeclaredShapesOf(const onnx::GraphProto& graph);

/// Contents of input `index` of a node where all that it says is what shape the result has (the
/// target of Reshape, the repeats of Tile, the axes of a reduction, …) and the file declares that
/// shape: every value with which the node makes such a result makes the same elements. Nothing for
/// other inputs, results that are not declared, and shapes that several different values give.
std::optional<Tensor> InputByDeclaredShape(const OnnxImport& import, const onnx::NodeProto& node,
                                           int index);

}  // namespace tilewright
