#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// An input of a graph, of which nothing is open.
struct BoundInput {
  std::string name;
  TensorType type;
  std::optional<Tensor> value;  ///< what it always is, if that was said
};

/// The inputs of a graph (initializers are none) with the sizes and values of `options`. Dimensions
/// of one name have one size, whichever of them was bound; a first dimension that nobody binds
/// is 1.
///
/// Errors: kInvalidArgument for a binding of a name that the file does not have, one that
/// contradicts the file or another, and a value that the input cannot have; kUnsupported for sizes
/// that stay open, all of them at once with what would bind them, and for what is no tensor.
Result<std::vector<BoundInput>> BindInputs(const onnx::GraphProto& graph, OnnxImport& import,
                                           const LoadOptions& options);

/// "; it follows from input 'sr' (int64[]): …" for a value that is computed from inputs which
/// `--value` could give; empty for others.
std::string HintToBind(const Graph& graph, int id);

}  // namespace tilewright
