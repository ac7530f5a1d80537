#pragma once

#include <optional>
#include <string>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Access to quantized values for handlers (OnnxNode::FindQuantized).

/// Returns whether an operator moves, compares or selects elements without changing them.
bool PreservesValues(OpKind kind);
/// Returns the node that computes a value; null for inputs and constants. Valid until the next node
/// is emitted.
const Node* OperatorAt(OnnxNode& node, int id);
/// Returns "'name'" for messages.
std::string Quoted(OnnxNode& node, int id);

inline bool IsPerTensor(const QuantizedValue& quantized) {
  return quantized.quantization_params.scales.size() == 1;
}
/// Returns the quantized value of `id` if it is one, or if only data movement separates it from
/// one. In the second case emits the same movement of the integers.
std::optional<QuantizedValue> QuantizedValueOf(OnnxNode& node, int id, int depth = 0);
/// Returns the scales divided by `scale` as float32, shaped to broadcast to the value.
Tensor FactorsOf(OnnxNode& node, const QuantizedValue& quantized, double scale);

}  // namespace tilewright
