#pragma once

#include "src/graph/onnx/operators/quantized/integer.h"
#include "src/graph/onnx/operators/quantized/quantized_value.h"

namespace tilewright {

/// q - zero_point of the form's numbers, as int32; floats as they are.
int EmitOffset(OnnxNode& node, const QuantizedValue& quantized);

/// value * factors in float32, as a number of its own: a bound that binds nothing keeps machines
/// with fused multiply-add from rounding only the sum that follows, where others round both.
int EmitRoundedProduct(OnnxNode& node, int value, Tensor factors);

/// a + b (kind kAdd) or a - b (kSub) of values that stand for quantized numbers of different
/// scales, as numbers of `range`. Their sum is what is rounded, once: in float32 halves to even, by
/// integers (Requantize::kByIntegers) halves up. -1 without an error if the scales are too far
/// apart for that.
int EmitQuantizedSum(OnnxNode& node, OpKind kind, const QuantizedValue& a, const QuantizedValue& b,
                     const QuantizedRange& range);

}  // namespace tilewright
