#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/graph/onnx/import_diagnostics.h"
#include "src/graph/onnx/node.h"

namespace tilewright {

/// Graph input with all dimensions bound.
struct BoundInput {
  std::string name;
  TensorType type;
  std::optional<Tensor> value;  ///< constant value, if the options bind one
  bool bfloat16 = false;        ///< in the file; here float32
};

/// Returns the graph's inputs (initializers excluded) with the sizes and values of `options`
/// applied. All dimensions of one name get the same size, also if only one of them was bound. An
/// unbound first dimension becomes 1. Also fills `import.declared`: names that only results have
/// may be bound, too.
///
/// diagnostics: receives the inputs whose sizes stay open, with the options that would bind them,
/// and the inputs that are not tensors. Both are added to import.refused and are missing from the
/// result.
///
/// Returns kInvalidArgument for a binding of a name that the file does not have, for a binding that
/// contradicts the file or another binding, and for a value that does not fit the input.
Result<std::vector<BoundInput>> BindInputs(const onnx::GraphProto& graph, OnnxImport& import,
                                           const LoadOptions& options,
                                           ImportDiagnostics& diagnostics);

/// Returns a hint for a value that must be constant at import but is computed from inputs: "; it
/// follows from input 'sr' (int64[]): …". The hint names the `--value` options if these can make
/// the value constant, otherwise the part of the model to export differently.
std::string BindingHint(const Graph& graph, int id);

}  // namespace tilewright
