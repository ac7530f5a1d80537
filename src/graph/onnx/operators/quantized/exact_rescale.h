#pragma once

#include <optional>

#include "src/graph/onnx/operators/quantized/integer.h"
#include "src/graph/onnx/operators/quantized/quantized_value.h"

namespace tilewright {

/// Requantization of stored numbers as ONNX defines it: each operator between DequantizeLinear and
/// QuantizeLinear rounds to float32, and the quotient is rounded half to even. There are few enough
/// numbers to try all of them, so one product in place of several steps is emitted where it gives
/// the same results, and the definition's steps elsewhere. Those are also emitted once
/// OnnxImport::kMaxTries numbers were tried. All functions emit for float requantization
/// (Requantize::kByFloat) only, and return -1 without an error where they do not apply.

/// The numbers of `form` (up to 16 bits), as numbers of `range`.
int EmitExactRescale(OnnxNode& node, const QuantizedValue& quantized, const QuantizedRange& range);
/// a + b (kAdd), a - b (kSub) or a * b (kMul) of up to 8 bits each with one scale. -1 also where
/// the caller's own form of it is exact: the sum or product of the numbers times one factor or, for
/// sums of different scales, EmitQuantizedSum.
int EmitExactPair(OnnxNode& node, OpKind kind, const QuantizedValue& a, const QuantizedValue& b,
                  const QuantizedRange& range);

}  // namespace tilewright
