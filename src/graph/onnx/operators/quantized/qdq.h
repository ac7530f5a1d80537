#pragma once

#include "src/graph/onnx/node.h"
#include "src/graph/onnx/operators/quantized/integer.h"

namespace tilewright {

/// Converts float operators between DequantizeLinear and QuantizeLinear to integer operators.
///
/// A product (Conv, ConvTranspose, Gemm, MatMul) of quantized values becomes a product of their
/// integers. Its result represents the int32 sums and is converted to float only if an operator
/// reads it as float. QuantizeLinear traces its input back to quantized values and computes with
/// their integers: sums, products, means, data movement, comparisons and bounds. Operators without
/// an integer form are kept in float32, with a note that gives the operator and the reason
/// (Graph::notes).

/// Import an operator and return true if data and weight are quantized values; otherwise do nothing
/// and return false. If only one operand is quantized, add a note that explains how to fix the
/// file.
bool ImportQuantizedConv(OnnxNode& node);
bool ImportQuantizedConvTranspose(OnnxNode& node);
bool ImportQuantizedGemm(OnnxNode& node);
bool ImportQuantizedMatMul(OnnxNode& node);

/// Quantizes the float value `id` to `range` without an intermediate float tensor. Returns -1 if
/// that is impossible; adds a note if the value is computed from quantized values.
int QuantizeByIntegers(OnnxNode& node, int id, const QuantizedRange& range);

}  // namespace tilewright
