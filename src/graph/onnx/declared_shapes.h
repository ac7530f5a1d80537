#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Sets `import.declared`: the shapes that a file declares for values that its nodes make, of
/// outputs and value_info whose dimensions are all numbers, or names of `sizes`; and `import.open`.
void DeclareShapes(const onnx::GraphProto& graph,
                   const std::map<std::string, std::int64_t, std::less<>>& sizes,
                   OnnxImport& import);

/// Contents of input `index` of a node where all that it says is what shape the result has (the
/// target of Reshape, the repeats of Tile, the axes of a reduction, …) and the file declares that
/// shape: every value with which the node makes such a result makes the same elements. Nothing for
/// other inputs, results that are not declared, and shapes that several different values give.
std::optional<Tensor> InputByDeclaredShape(const OnnxImport& import, const onnx::NodeProto& node,
                                           int index);

}  // namespace tilewright
