#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/graph/onnx/import_diagnostics.h"
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
/// is 1. Also `import.declared`: names that only results have may be bound, too.
///
/// refusals: gets the inputs whose sizes stay open, with what would bind them, and those that are
/// no tensors; they are among import.refused then, and not among the result.
///
/// Errors: kInvalidArgument for a binding of a name that the file does not have, one that
/// contradicts the file or another, and a value that the input cannot have.
Result<std::vector<BoundInput>> BindInputs(const onnx::GraphProto& graph, OnnxImport& import,
                                           const LoadOptions& options,
                                           ImportDiagnostics& diagnostics);

/// What to do about a value that must be known and is computed from inputs: "; it follows from
/// input 'sr' (int64[]): …" with the options where `--value` could give these, else what is to be
/// exported in another way.
std::string BindingHint(const Graph& graph, int id);

}  // namespace tilewright
