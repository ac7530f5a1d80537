#pragma once

#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Products of quantized tensors, and the way back from their sums: what the quantized operators of
/// ONNX and float operators between DequantizeLinear and QuantizeLinear have in common. All of them
/// emit operators for `node`; an error sticks to it.

/// The zero point of input `index`: 0 if it is absent, nothing if there are several that differ
/// or if it is computed while the network runs.
std::optional<std::int64_t> UniformZeroPoint(OnnxNode& node, int index);
/// The same. Errors: kUnsupported if there is no such one.
std::int64_t ZeroPoint(OnnxNode& node, int index);
/// Errors: kInvalidArgument unless the zero points of input `index`, if there are any, are of the
/// type of the numbers of input `numbers`.
void CheckZeroPointType(OnnxNode& node, int numbers, int index);
/// Scales of input `index`: one, or `channels` of them (any number if 0).
std::vector<float> Scales(OnnxNode& node, int index, std::int64_t channels);

/// A vector, shaped to broadcast along dimension `axis` of a tensor of this rank; one element: as
/// it is, but for a scalar.
int AlongAxis(OnnxNode& node, int id, std::int64_t axis, std::int64_t rank);

/// Numbers minus their zero point, in the narrowest type that holds every difference and that a
/// product takes as its second operand: int8 or int16.
int Centred(OnnxNode& node, int id, std::int64_t zero_point);
/// The same by the zero points of input `index`, which lie along dimension `axis`, or have as many
/// dimensions as the numbers and broadcast to these.
int CentredByInput(OnnxNode& node, int id, int index, std::int64_t axis);

/// Convolution of NCHW or NCDHW `data` (whose zeros are `data_zero`) with a centred OIHW weight;
/// attributes as those of Conv. int32 [N,K,H,W]; of volumes, which are images that follow each
/// other in depth until FromImage, [N*D,K,H,W].
int IntegerConvolution(OnnxNode& node, int data, std::int64_t data_zero, int weight);
/// Transposed convolution of centred data with a centred IOHW weight. int32.
int IntegerConvTranspose(OnnxNode& node, int data, int weight);
/// Matrix product of `a` (whose zeros are `a_zero`) with a centred `b`, of any ranks; int32. With
/// `transposed`, b is [N,K] and both have two dimensions.
int IntegerMatmul(OnnxNode& node, int a, std::int64_t a_zero, int b, bool transposed = false);

/// The product of inputs `a` and `b` less their zero points, inputs too (of `a`: one, or one per
/// row; of `b`: one, or one per column). int32.
int IntegerMatmulOfInputs(OnnxNode& node, int a, int a_zero, int b, int b_zero);

/// Floats as uint8 numbers, and the scale and zero point that were chosen for them: scalars, both
/// floats.
struct DynamicallyQuantized {
  int numbers = -1, scale = -1, zero = -1;
};
/// Quantizes `data` as DynamicQuantizeLinear says: by its least and its greatest element. Of
/// nothing but zeros the scale is 1, or some other one unless `unit_of_nothing`.
DynamicallyQuantized EmitDynamicallyQuantized(OnnxNode& node, int data,
                                              bool unit_of_nothing = false);
/// Matrix product of such numbers, less their zero point, with a centred `weight`; [N,K] with
/// `transposed`. int32.
int EmitDynamicProduct(OnnxNode& node, const DynamicallyQuantized& data, int weight,
                       bool transposed);

/// What a quantized tensor may hold: round(x / scale) + zero_point, within [low, high].
struct QuantizedRange {
  double scale = 1;
  std::int64_t zero_point = 0;
  DataType dtype;
  std::int64_t low = 0, high = 0;

  static QuantizedRange Of(double scale, std::int64_t zero_point, DataType dtype);
  /// The number that `value` becomes; halves to even.
  std::int64_t Quantize(double value) const;
  /// Whether low and high are all that the type holds.
  bool IsWhole() const;
};

/// Rounds a float value that is divided by the scale already, adds the zero point and saturates.
int EmitRounded(OnnxNode& node, int value, const QuantizedRange& range);
/// int32 values times `factors` (a float32 tensor that broadcasts against them), rounded, moved to
/// the zero point and saturated, by float32 or by integers as the import asks for.
int EmitRequantized(OnnxNode& node, int value, Tensor factors, const QuantizedRange& range);
/// int32 values times `factors`, rounded to int32 by integers.
int EmitFixedPoint(OnnxNode& node, int value, const Tensor& factors);
/// Adds the zero point to int32 values, and saturates.
int EmitNarrowed(OnnxNode& node, int value, const QuantizedRange& range);

}  // namespace tilewright
