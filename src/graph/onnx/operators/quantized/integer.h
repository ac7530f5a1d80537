#pragma once

#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Products of quantized tensors and requantization of their sums. The quantized operators of ONNX
/// and float operators between DequantizeLinear and QuantizeLinear share these functions. All of
/// them emit operators for `node` and report errors there.

/// Returns the zero point of input `index`: 0 if absent; nothing if several zero points differ or
/// if the input is computed at run time.
std::optional<std::int64_t> UniformZeroPoint(OnnxNode& node, int index);
/// Zero point of a tensor: known, or an int32 scalar that is computed at run time. Of a weight with
/// two dimensions also one for each column.
struct IntegerZeroPoint {
  std::optional<std::int64_t> known = 0;
  int id = -1;  ///< if not known: int32, a scalar or [columns]
};
/// Returns the zero point of input `index`; nothing if there are several.
std::optional<IntegerZeroPoint> ZeroPointOfInput(OnnxNode& node, int index);
/// Returns the zero points of input `index` for a weight [K,columns]; nothing if they are not one
/// or one for each column.
std::optional<IntegerZeroPoint> ZeroPointsOfColumns(OnnxNode& node, int index,
                                                    std::int64_t columns);
/// Returns the known zero point of input `index`. Errors: kUnsupported if there is no uniform
/// constant zero point.
std::int64_t ZeroPoint(OnnxNode& node, int index);
/// Checks that input `index` has 8-bit integers. Errors: kInvalidArgument.
void ExpectBytes(OnnxNode& node, int index);
/// Checks that the zero points of input `index`, if present, have the type of input `numbers`.
/// Errors: kInvalidArgument.
void CheckZeroPointType(OnnxNode& node, int numbers, int index);
/// Returns the scales of input `index`: one, or `channels` of them (any number if 0).
std::vector<float> Scales(OnnxNode& node, int index, std::int64_t channels);

/// Reshapes a vector to broadcast along dimension `axis` of a tensor of this rank. A single element
/// stays unchanged, or becomes a scalar if its own rank exceeds `rank`.
int AlongAxis(OnnxNode& node, int id, std::int64_t axis, std::int64_t rank);

/// Emits integers minus their zero point in the narrowest type that holds every difference and that
/// a product accepts as its second operand: int8 or int16.
int Centred(OnnxNode& node, int id, std::int64_t zero_point);
/// Emits the same for the zero points of input `index`. They vary along dimension `axis`, or have
/// the rank of the integers and broadcast to them.
int CentredByInput(OnnxNode& node, int id, int index, std::int64_t axis);

/// Emits a convolution of NCHW or NCDHW `data` with zero point `data_zero` and a centred OIHW
/// weight; attributes as those of Conv. The result is int32 [N,K,H,W]. For volumes it is
/// [N*D,K,H,W], images stacked along the depth, until FromImage.
int IntegerConvolution(OnnxNode& node, int data, std::int64_t data_zero, int weight);
/// Emits an int32 transposed convolution of centred data with a centred IOHW weight.
int IntegerConvTranspose(OnnxNode& node, int data, int weight);
/// Emits an int32 matrix product of `a` with zero point `a_zero` and a centred `b`, both of any
/// rank. With `transposed`, b is [N,K] and both have two dimensions.
int IntegerMatmul(OnnxNode& node, int a, std::int64_t a_zero, int b, bool transposed = false);

/// Emits the int32 matrix product of 8-bit integers minus their zero points, with 8-bit operands.
/// a_zero: one.
int ProductOfBytes(OnnxNode& node, int a, IntegerZeroPoint a_zero, int b, IntegerZeroPoint b_zero);
/// Emits a convolution of NCHW data and an OIHW weight of one group, 8-bit integers minus their
/// zero points, with 8-bit operands. If the weight's zero point is 0 (uint8: 128), also of more
/// groups.
int ConvolutionOfBytes(OnnxNode& node, int data, const IntegerZeroPoint& zero, int weight,
                       IntegerZeroPoint weight_zero);
/// Emits the int32 product of inputs `a` and `b` minus their zero points. The zero points are
/// inputs, too: for `a` one or one per row, for `b` one or one per column.
int IntegerMatmulOfInputs(OnnxNode& node, int a, int a_zero, int b, int b_zero);

/// Floats quantized to uint8 at run time, with their scale and zero point (both float scalars).
struct DynamicallyQuantized {
  int numbers = -1, scale = -1, zero = -1;
};
/// Quantizes `data` by its minimum and maximum, as DynamicQuantizeLinear specifies. If all elements
/// are zero, the scale is 1 with `unit_of_nothing`, otherwise it is unspecified.
DynamicallyQuantized EmitDynamicallyQuantized(OnnxNode& node, int data,
                                              bool unit_of_nothing = false);
/// Weight of a product of bytes.
struct ByteWeight {
  int bytes = -1;         ///< int8 [N,K]
  int totals = -1;        ///< int32 [N]: sums over K
  IntegerZeroPoint zero;  ///< one, or computed for each column: int32 [N]
};
/// Emits the form of a weight [K,N] of 8-bit integers that products of bytes read.
ByteWeight EmitByteWeight(OnnxNode& node, int weight, const IntegerZeroPoint& zero);
/// Emits the int32 matrix product of integers quantized at run time and a weight, both minus their
/// zero points.
int EmitDynamicProduct(OnnxNode& node, const DynamicallyQuantized& data, const ByteWeight& weight);

/// Emits int32 sums times the scale of the data (a value of one element) and the scales of the
/// weight (input `weight_scale`), plus the bias (input `bias`), if present. Both inputs have one
/// element or one per column.
int EmitRealSums(OnnxNode& node, int sums, int data_scale, int weight_scale, int bias);

/// Parameters of a quantized tensor: elements are round(x / scale) + zero_point, clamped to [low,
/// high].
struct QuantizedRange {
  double scale = 1;
  std::int64_t zero_point = 0;
  DataType dtype;
  std::int64_t low = 0, high = 0;

  static QuantizedRange Of(double scale, std::int64_t zero_point, DataType dtype);
  /// Returns the quantized `value`, rounded half to even.
  std::int64_t Quantize(double value) const;
  /// Returns whether [low, high] is the full range of the type.
  bool IsWhole() const;
};

/// Rounds a float value that is already divided by the scale, adds the zero point and saturates.
int EmitRounded(OnnxNode& node, int value, const QuantizedRange& range);
/// Multiplies int32 values by `factors` (a float32 tensor that broadcasts to them), rounds, adds
/// the zero point and saturates. Uses float32 or integer arithmetic as the import requests.
int EmitRequantized(OnnxNode& node, int value, Tensor factors, const QuantizedRange& range);
/// Multiplies int32 values by `factors` and rounds to int32 in integer arithmetic.
int EmitFixedPoint(OnnxNode& node, int value, const Tensor& factors);
/// Adds the zero point to int32 values and saturates.
int EmitNarrowed(OnnxNode& node, int value, const QuantizedRange& range);

}  // namespace tilewright
