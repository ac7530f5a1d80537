#pragma once

#include "src/graph/onnx/operators/quantized/integer.h"
#include "src/graph/onnx/operators/quantized/quantized_value.h"

namespace tilewright {

/// Emits q - zero_point as int32. Returns floats unchanged.
int EmitOffset(OnnxNode& node, const QuantizedValue& quantized);

/// Emits value * factors in float32 as a separately rounded product. A clamp that changes no value
/// prevents fused multiply-add, which would round only the following sum.
int EmitRoundedProduct(OnnxNode& node, int value, Tensor factors);

/// Emits a + b (kind kAdd) or a - b (kSub) of quantized values with different scales, requantized
/// to `range`. The sum is rounded once: in float32 half to even, in integer arithmetic
/// (Requantize::kByIntegers) half up. Returns -1 without an error if the scales differ too much.
int EmitQuantizedSum(OnnxNode& node, OpKind kind, const QuantizedValue& a, const QuantizedValue& b,
                     const QuantizedRange& range);

}  // namespace tilewright
