#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Sets `import.declared` to the shapes that the file declares (outputs and value_info) for values
/// computed by nodes. Skips shapes with a dimension that is neither a number nor a name in `sizes`.
/// Also sets `import.open`.
void DeclareShapes(const onnx::GraphProto& graph,
                   const std::map<std::string, std::int64_t, std::less<>>& sizes,
                   OnnxImport& import);

/// Returns contents for input `index` of a node if the input only determines the shape of the
/// result (the target of Reshape, the repeats of Tile, the axes of a reduction, …) and the file
/// declares that shape. Every value that gives this shape also gives the same elements. Returns
/// nothing for other inputs, undeclared results, and shapes that several values with different
/// results give.
std::optional<Tensor> InputByDeclaredShape(const OnnxImport& import, const onnx::NodeProto& node,
                                           int index);

}  // namespace tilewright
