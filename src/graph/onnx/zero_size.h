#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/graph/onnx/node.h"
#include "src/tensor/operator.h"

namespace tilewright {

/// Returns whether the handler of an operator supports zero-size inputs.
bool AcceptsZeroSize(std::string_view op_type);
/// Returns kUnsupported for a zero-size input of a node whose operator does not accept one. Lists
/// (of axes, scales, …) may be empty for every operator.
Status CheckZeroSizeInputs(const onnx::NodeProto& node, const OnnxImport& import);

/// Result of an operator that has a zero-size result or zero-size operands.
struct FilledResult {
  TensorType type;  ///< possibly zero-size
  /// Value of all elements. Not used for concatenations, which join the other operands.
  double fill = 0;
};
/// Returns nothing if neither operands nor result are zero-size.
/// Errors: those of InferType; kUnsupported for an operator whose result is undefined for zero-size
/// operands.
Result<std::optional<FilledResult>> ZeroSizeResult(const Operator& op,
                                                   std::span<const TensorType> inputs);

}  // namespace tilewright
