#pragma once

#include <optional>
#include <string>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Float values that stand for quantized numbers, as handlers look at them (OnnxNode::Form).

/// Moves, compares or picks elements and changes none.
bool PreservesValues(OpKind kind);
/// The operator that makes a value; null for inputs and constants. Valid until one is emitted.
const Node* OperatorAt(OnnxNode& node, int id);
/// "'name'", for messages.
std::string Quoted(OnnxNode& node, int id);

inline bool IsPerTensor(const QuantizedValue& quantized) {
  return quantized.quantization_params.scales.size() == 1;
}
/// The numbers that `id` stands for, where it is a quantized value or one that was only moved since
/// (then the numbers are moved too).
std::optional<QuantizedValue> QuantizedValueOf(OnnxNode& node, int id, int depth = 0);
/// The form's scales divided by `scale`, float32, shaped to broadcast against it.
Tensor FactorsOf(OnnxNode& node, const QuantizedValue& quantized, double scale);

}  // namespace tilewright
