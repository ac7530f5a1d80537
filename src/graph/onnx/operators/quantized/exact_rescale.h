#pragma once

#include <optional>

#include "src/graph/onnx/operators/quantized/integer.h"
#include "src/graph/onnx/operators/quantized/quantized_value.h"

namespace tilewright {

/// Requantization exactly as ONNX defines it: each operator between DequantizeLinear and
/// QuantizeLinear rounds to float32, and the quotient is rounded half to even. The functions try
/// all possible integers. If a single product gives the same results as the definition's steps,
/// they emit the product; otherwise they emit the steps. After OnnxImport::kMaxTries tried integers
/// they always emit the steps. All functions apply only to float requantization
/// (Requantize::kByFloat) and return -1 without an error if they do not apply.

/// Requantizes integers of up to 16 bits to `range`.
int EmitExactRescale(OnnxNode& node, const QuantizedValue& quantized, const QuantizedRange& range);
/// Emits a + b (kAdd), a - b (kSub) or a * b (kMul) of integers of up to 8 bits with one scale
/// each. Returns -1 also if the caller's own implementation is exact: the sum or product of the
/// integers times one factor or, for sums of different scales, EmitQuantizedSum.
int EmitExactPair(OnnxNode& node, OpKind kind, const QuantizedValue& a, const QuantizedValue& b,
                  const QuantizedRange& range);

}  // namespace tilewright
