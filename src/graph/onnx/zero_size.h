#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/graph/onnx/node.h"
#include "src/tensor/operator.h"

namespace tilewright {

/// Whether the handler of an operator copes with inputs that have no elements.
bool AcceptsZeroSize(std::string_view op_type);
/// Errors: kUnsupported for an input without elements of a node whose operator takes none; lists
/// (of axes, scales, …) may have none everywhere.
Status CheckZeroSizeInputs(const onnx::NodeProto& node, const OnnxImport& import);

/// What an operator gives that makes no elements, or reads operands without any.
struct FilledResult {
  TensorType type;  ///< maybe without elements
  double fill = 0;  ///< all of its elements, but for concatenations: those join the other operands
};
/// None if operands and result all have elements.
/// Errors: those of InferType; kUnsupported for an operator that has no result without elements to
/// read.
Result<std::optional<FilledResult>> ZeroSizeResult(const Operator& op,
                                                   std::span<const TensorType> inputs);

}  // namespace tilewright
