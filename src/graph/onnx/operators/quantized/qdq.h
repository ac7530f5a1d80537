#pragma once

#include "src/graph/onnx/node.h"
#include "src/graph/onnx/operators/quantized/integer.h"

namespace tilewright {

/// Float operators between DequantizeLinear and QuantizeLinear, as integer operators.
///
/// A product (Conv, ConvTranspose, Gemm, MatMul) of values that stand for quantized numbers becomes
/// a product of those; its result stands for the int32 sums, so that a float is made of them only
/// where something reads one. QuantizeLinear goes back from its input to such values and computes
/// with their numbers: sums, products, means, and whatever moves, compares or bounds numbers. What
/// has no integer form stays float, and a note says which and why (Graph::notes).

/// Each imports its operator if data and weight stand for quantized numbers and says so; else it
/// does nothing. Where one operand only does, a note says how to mend the file.
bool ImportQuantizedConv(OnnxNode& node);
bool ImportQuantizedConvTranspose(OnnxNode& node);
bool ImportQuantizedGemm(OnnxNode& node);
bool ImportQuantizedMatMul(OnnxNode& node);

/// The float value `id`, quantized to `range` without a float tensor on the way; -1 if that cannot
/// be (then with a note if quantized numbers are among what it is made of).
int QuantizeByIntegers(OnnxNode& node, int id, const QuantizedRange& range);

}  // namespace tilewright
