// Products use the stored integers and a correction, so that the fast integer kernels apply:
//
// sum (x - zx) * w  =  sum x * w  -  zx * sum w
//
// The second term is one constant per output channel, folded at compile time. It requires every
// tap, so a convolution with zx != 0 gets an explicit padding operator before it, with the value
// zx. Weights that are not signed 8-bit integers around zero are shifted to a wider type. They are
// constants, so this costs only the wider product.

#include "src/graph/onnx/operators/quantized/integer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/graph/onnx/handlers.h"
#include "src/graph/quantize/fixed_point.h"

namespace tilewright {
namespace {

using quantize::FixedPoint;

using Shape = std::vector<std::int64_t>;

// Emits sum - zero * (sum of each channel's weights). The zero point is an int32 scalar; the
// correction has shape `shape`.
int CorrectComputedZeroPoint(OnnxNode& node, int sum, int weight, int zero, Shape axes,
                             Shape shape) {
  Operator reduce{OpKind::kReduceSum, {}};
  reduce.attributes.axes = std::move(axes);
  const int totals = node.Emit(reduce, {node.EmitCast(weight, kInt32)});
  const int scaled = node.Emit(OpKind::kMul, {totals, zero});
  return node.Emit(OpKind::kSub, {sum, node.EmitReshape(scaled, std::move(shape))});
}

// Emits the same for a zero point that is known.
int CorrectZeroPoint(OnnxNode& node, int sum, int weight, std::int64_t zero_point, Shape axes,
                     Shape shape) {
  if (zero_point == 0) return sum;
  return CorrectComputedZeroPoint(node, sum, weight, node.EmitScalar(kInt32, zero_point),
                                  std::move(axes), std::move(shape));
}

// Emits a computed zero point of one element as an int32 scalar.
int ZeroPointScalar(OnnxNode& node, int zero) {
  return node.EmitReshape(node.EmitCast(zero, kInt32), {});
}

// Returns the representation of factors from 2^-31 to 2^30. Smaller factors become 0; larger ones
// give nothing.
std::optional<FixedPoint> FixedPointOf(double factor) {
  constexpr int kMin = -31, kMax = 30;
  if (!(factor >= 0) || !std::isfinite(factor)) return std::nullopt;
  const FixedPoint fixed = quantize::ToFixedPoint(factor);
  if (fixed.shift > kMax) return std::nullopt;
  return fixed.shift < kMin ? FixedPoint() : fixed;
}

int FailFactor(OnnxNode& node, double factor) {
  node.FailInvalid("scales give the factor " + std::to_string(factor) +
                   ", expected one from 0 to 2^30");
  return -1;
}

int EmitClip(OnnxNode& node, int value, std::int64_t low, std::int64_t high) {
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_min = static_cast<double>(low);
  clip.attributes.a_max = static_cast<double>(high);
  return node.Emit(clip, {value});
}

// Emits value * factors in int64: ((value * multiplier) + rounding) >> shift, all per channel. No
// product overflows; results of factors above 1 that exceed int32 saturate.
int EmitWideFixedPoint(OnnxNode& node, int value, const Tensor& factors) {
  const TensorType type{factors.shape(), kInt64};
  Tensor multiplier(type), rounding(type), shift(type);
  bool grows = false;
  for (std::int64_t i = 0; i < factors.elements(); ++i) {
    const auto fixed = FixedPointOf(factors.At(i));
    if (!fixed) return FailFactor(node, factors.At(i));
    const int bits = 31 - fixed->shift;
    grows |= fixed->shift > 0;
    const auto position = static_cast<std::size_t>(i);
    multiplier.As<std::int64_t>()[position] = fixed->multiplier;
    rounding.As<std::int64_t>()[position] = std::int64_t{1} << (bits - 1);
    shift.As<std::int64_t>()[position] = bits;
  }
  int wide = node.EmitCast(value, kInt64);
  wide = node.Emit(OpKind::kMul, {wide, node.EmitConstant(std::move(multiplier))});
  wide = node.Emit(OpKind::kAdd, {wide, node.EmitConstant(std::move(rounding))});
  wide = node.Emit(OpKind::kShiftRight, {wide, node.EmitConstant(std::move(shift))});
  if (grows) wide = EmitClip(node, wide, -(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1);
  return node.EmitCast(wide, kInt32);
}

std::pair<std::int64_t, std::int64_t> LimitsOf(DataType dtype) {
  const std::int64_t span = std::int64_t{1} << dtype.bits;
  if (dtype.code == TypeCode::kUInt) return {0, span - 1};
  return {-span / 2, span / 2 - 1};
}

// Checks that the number of zero points is 1 or that of their integers. Errors: kInvalidArgument.
void CheckBroadcasts(OnnxNode& node, int index, const TensorType& numbers) {
  const Shape zeros = node.InputType(index).shape;
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    if (zeros[i] == 1 || zeros[i] == numbers.shape[i]) continue;
    return node.FailInvalid("zero points (input " + std::to_string(index) + ") are " +
                            node.InputType(index).ToString() + ", which do not broadcast to " +
                            numbers.ToString());
  }
}

// Adds to an image the padding of a convolution; its elements are the zero point.
int PadWithZeroPoint(OnnxNode& node, int data, const IntegerZeroPoint& zero,
                     const std::array<std::int64_t, 4>& pads) {
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_width = {0, 0, 0, 0, pads[0], pads[2], pads[1], pads[3]};
  if (zero.known) pad.attributes.pad_value = static_cast<double>(*zero.known);
  const int padded = node.Emit(pad, {data});
  if (zero.known || !node.ok()) return padded;
  const Shape shape = node.TypeOf(padded).shape, inner = node.TypeOf(data).shape;
  Tensor inside(TensorType{{1, 1, shape[2], shape[3]}, kBool});
  for (std::int64_t i = 0; i < inside.elements(); ++i) {
    const std::int64_t y = i / shape[3] - pads[0], x = i % shape[3] - pads[1];
    inside.Set(i, y >= 0 && y < inner[2] && x >= 0 && x < inner[3] ? 1 : 0);
  }
  const int of_data = node.EmitCast(zero.id, node.TypeOf(data).dtype);
  return node.Emit(OpKind::kWhere, {node.EmitConstant(std::move(inside)), padded, of_data});
}

// Returns the operator that convolves an NCHW image with an OIHW weight.
// Errors: kUnsupported for other numbers of dimensions.
Operator ImageConvolution(OnnxNode& node, int data, int weight) {
  Operator op{OpKind::kConv2d, {}};
  if (!node.ok()) return op;
  const TensorType type = node.TypeOf(data), kernel = node.TypeOf(weight);
  if (type.shape.size() != 4 || kernel.shape.size() != 4) {
    node.FailUnsupported("data is " + type.ToString() + " and weight " + kernel.ToString() +
                         ", expected 3 to 5 dimensions, as many for both");
    return op;
  }
  op.attributes = WindowAttributes(node, type, {kernel.shape[2], kernel.shape[3]});
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  op.attributes.dtype = kInt32;
  return op;
}

// Emits a convolution of an image minus its zero point and a centred weight. Its padding becomes a
// part of `data` if it is not zero.
int ConvolutionWithZeroPoint(OnnxNode& node, int& data, const IntegerZeroPoint& zero, int weight,
                             Operator& op) {
  if (!node.ok()) return -1;
  auto& padding = op.attributes.padding;
  const bool pads = std::ranges::any_of(padding, [](std::int64_t p) { return p != 0; });
  if (pads && zero.known != 0) {
    data = PadWithZeroPoint(node, data, zero, padding);
    padding = {0, 0, 0, 0};
  }
  const int sums = node.Emit(op, {data, weight});
  if (zero.known == 0 || !node.ok()) return sums;
  const int scalar = zero.known ? node.EmitScalar(kInt32, *zero.known) : zero.id;
  const std::int64_t channels = node.TypeOf(weight).shape[0];
  return CorrectComputedZeroPoint(node, sums, weight, scalar, {1, 2, 3}, {channels, 1, 1});
}

}  // namespace

std::optional<std::int64_t> UniformZeroPoint(OnnxNode& node, int index) {
  if (!node.HasInput(index)) return 0;
  const TensorType type = node.InputType(index);
  const Tensor* contents = node.Known(index);
  if (!node.ok()) return 0;
  if (type.elements() == 0 || !type.dtype.is_integer() || type.dtype.bits > 32) {
    node.FailUnsupported("zero point (input " + std::to_string(index) +
                         ") must be integers of 8, 16 or 32 bits");
    return 0;
  }
  if (contents == nullptr) return std::nullopt;
  for (std::int64_t i = 1; i < contents->elements(); ++i) {
    if (contents->At(i) != contents->At(0)) return std::nullopt;
  }
  return static_cast<std::int64_t>(contents->At(0));
}

std::optional<IntegerZeroPoint> ZeroPointOfInput(OnnxNode& node, int index) {
  if (const auto known = UniformZeroPoint(node, index)) return IntegerZeroPoint{known, -1};
  if (!node.ok() || node.InputType(index).elements() != 1) return std::nullopt;
  return IntegerZeroPoint{std::nullopt, ZeroPointScalar(node, node.Input(index))};
}

std::optional<IntegerZeroPoint> ZeroPointsOfColumns(OnnxNode& node, int index,
                                                    std::int64_t columns) {
  if (auto one = ZeroPointOfInput(node, index); one || !node.ok()) return one;
  const TensorType type = node.InputType(index);  // a column has one for each row
  if (type.elements() != columns || type.shape.back() != columns) return std::nullopt;
  const int zeros = node.EmitReshape(node.EmitCast(node.Input(index), kInt32), {columns});
  return IntegerZeroPoint{std::nullopt, zeros};
}

std::int64_t ZeroPoint(OnnxNode& node, int index) {
  const auto zero = UniformZeroPoint(node, index);
  if (!zero) {
    node.FailUnknown(
        index,
        "has zero points that are computed at run time or differ between channels, expected one "
        "that is constant at import");
  }
  return zero.value_or(0);
}

void ExpectBytes(OnnxNode& node, int index) {
  const TensorType type = node.InputType(index);
  if (!node.ok() || type.dtype == kInt8 || type.dtype == kUInt8) return;
  node.FailInvalid("input " + std::to_string(index) + " is " + type.ToString() +
                   ", expected int8 or uint8");
}

void CheckZeroPointType(OnnxNode& node, int numbers, int index) {
  if (!node.HasInput(index)) return;
  const TensorType zeros = node.InputType(index), type = node.InputType(numbers);
  if (!node.ok() || zeros.dtype == type.dtype) return;
  node.FailInvalid("zero points (input " + std::to_string(index) + ") are " + zeros.ToString() +
                   ", expected the type of their integers, " + type.ToString());
}

std::vector<float> Scales(OnnxNode& node, int index, std::int64_t channels) {
  const Tensor* contents = node.Known(index);
  if (!node.ok()) return {};
  const bool fits =
      contents != nullptr && contents->dtype().is_float() && contents->elements() > 0 &&
      (contents->elements() == 1 || channels == 0 || contents->elements() == channels);
  if (!fits) {
    node.FailUnknown(index, "must be one scale or one per channel, constant at import");
    return {};
  }
  std::vector<float> scales;
  for (std::int64_t i = 0; i < contents->elements(); ++i) {
    scales.push_back(static_cast<float>(contents->At(i)));
    if (std::isfinite(scales.back()) && scales.back() > 0) continue;
    node.FailInvalid("scale (input " + std::to_string(index) + ") is " +
                     std::to_string(scales.back()) + ", expected a positive number");
  }
  return scales;
}

int AlongAxis(OnnxNode& node, int id, std::int64_t axis, std::int64_t rank) {
  if (!node.ok()) return -1;
  if (node.TypeOf(id).elements() == 1) {  // a scalar must not gain a dimension
    return node.Rank(id) > rank ? node.EmitReshape(id, {}) : id;
  }
  if (axis >= rank) {
    node.FailInvalid(node.TypeOf(id).ToString() + " per channel of a value of " +
                     std::to_string(rank) + " dimensions");
    return -1;
  }
  Shape shape(static_cast<std::size_t>(rank - axis), 1);
  shape[0] = node.TypeOf(id).elements();
  return node.EmitReshape(id, shape);
}

int Centred(OnnxNode& node, int id, std::int64_t zero_point) {
  if (!node.ok()) return -1;
  const DataType dtype = node.TypeOf(id).dtype;
  if (zero_point == 0) return dtype == kUInt8 ? node.EmitCast(id, kInt16) : id;
  const int wide = node.EmitCast(id, kInt16);
  const int moved = node.Emit(OpKind::kSub, {wide, node.EmitScalar(kInt16, zero_point)});
  const bool fits = dtype == kUInt8 && zero_point == 128;
  return fits ? node.EmitCast(moved, kInt8) : moved;
}

int CentredByInput(OnnxNode& node, int id, int index, std::int64_t axis) {
  const auto zero = UniformZeroPoint(node, index);
  if (zero) return Centred(node, id, *zero);
  const bool alike =
      node.ok() && node.Rank(node.Input(index)) == node.Rank(id) && node.Rank(id) > 1;
  const int given = node.EmitCast(node.Input(index), kInt16);
  const int zeros = alike ? given : AlongAxis(node, given, axis, node.Rank(id));
  if (alike && node.ok()) CheckBroadcasts(node, index, node.TypeOf(id));
  return node.Emit(OpKind::kSub, {node.EmitCast(id, kInt16), zeros});
}

int IntegerConvolution(OnnxNode& node, int data, std::int64_t data_zero, int weight) {
  if (node.Rank(data) == 5) {
    const int volume = VolumeSums(node, data, weight, static_cast<double>(data_zero), kInt32);
    const std::int64_t channels = node.ok() ? node.TypeOf(weight).shape[0] : 0;
    return CorrectZeroPoint(node, volume, weight, data_zero, {1, 2, 3, 4}, {channels, 1, 1});
  }
  data = AsImage(node, data);
  weight = AsImage(node, weight);
  Operator op = ImageConvolution(node, data, weight);
  return ConvolutionWithZeroPoint(node, data, {data_zero, -1}, weight, op);
}

int IntegerConvTranspose(OnnxNode& node, int data, int weight) {
  data = AsImage(node, data);
  weight = AsImage(node, weight);
  auto op = ConvTransposeOperator(node, data, weight);
  if (!node.ok()) return -1;
  op.attributes.dtype = kInt32;
  return node.Emit(op, {data, weight});
}

int IntegerMatmul(OnnxNode& node, int a, std::int64_t a_zero, int b, bool transposed) {
  if (!node.ok()) return -1;
  const Shape shape = node.TypeOf(b).shape;
  if (shape.size() != 2) {  // the correction would not be one integer per column
    return EmitMatmul(node, Centred(node, a, a_zero), b, kInt32);
  }
  Shape result = node.TypeOf(a).shape;
  if (result.empty()) {
    node.FailInvalid("an operand is a scalar, expected at least one dimension");
    return -1;
  }
  const int rows = node.EmitReshape(a, {node.TypeOf(a).elements() / result.back(), result.back()});
  const std::int64_t depth = transposed ? 1 : 0;
  const std::int64_t columns = shape[static_cast<std::size_t>(1 - depth)];
  const int sum = EmitDense(node, rows, b, transposed, kInt32);
  const int corrected = CorrectZeroPoint(node, sum, b, a_zero, {depth}, {columns});
  result.back() = columns;
  return node.EmitReshape(corrected, result);
}

namespace {

// Adds `by` to integers of 8 bits, exact in the other type of 8 bits.
int Moved(OnnxNode& node, int id, std::int64_t by, DataType dtype) {
  const int wide = node.EmitCast(id, kInt16);
  return node.EmitCast(node.Emit(OpKind::kAdd, wide, static_cast<double>(by)), dtype);
}

IntegerZeroPoint Moved(OnnxNode& node, const IntegerZeroPoint& zero, std::int64_t by) {
  if (zero.known) return {*zero.known + by, -1};
  return {std::nullopt, node.Emit(OpKind::kAdd, zero.id, static_cast<double>(by))};
}

int Times(OnnxNode& node, int value, const IntegerZeroPoint& zero) {
  if (zero.known) return node.Emit(OpKind::kMul, value, static_cast<double>(*zero.known));
  return node.Emit(OpKind::kMul, {value, zero.id});
}

// Emits the sums along one of the last two dimensions, which stays with one element.
int Totals(OnnxNode& node, int id, std::int64_t from_end) {
  if (!node.ok()) return -1;
  Operator reduce{OpKind::kReduceSum, {}};
  reduce.attributes.axes = {node.Rank(id) - from_end};
  reduce.attributes.keepdims = true;
  return node.Emit(reduce, {node.EmitCast(id, kInt32)});
}

// Emits sums - zw * (sum x - K * zx), for sums that have the other corrections.
int LessZeroOfWeight(OnnxNode& node, int sums, int x, const IntegerZeroPoint& x_zero,
                     const IntegerZeroPoint& weight_zero) {
  if (weight_zero.known == 0 || !node.ok()) return sums;
  const int taps = node.EmitScalar(kInt32, static_cast<double>(node.TypeOf(x).shape.back()));
  const int above = node.Emit(OpKind::kSub, {Totals(node, x, 1), Times(node, taps, x_zero)});
  return node.Emit(OpKind::kSub, {sums, Times(node, above, weight_zero)});
}

constexpr std::int64_t kHalf = 128;  // between int8 and uint8

// Subtracts the zero point of integers of 8 bits, in int16.
int Offset(OnnxNode& node, int id, const IntegerZeroPoint& zero) {
  const int wide = node.EmitCast(id, kInt16);
  if (zero.known == 0) return wide;
  if (zero.known) return node.Emit(OpKind::kSub, wide, static_cast<double>(*zero.known));
  return node.Emit(OpKind::kSub, {wide, node.EmitCast(zero.id, kInt16)});
}

// sum x * (w - zw)  =  sum x * w  -  zw * sum x, which reads the matrices once.
int ProductOfFewRows(OnnxNode& node, int x, int w, const IntegerZeroPoint& zero) {
  const int sums = EmitMatmul(node, x, w, kInt32);
  if (zero.known == 0 || !node.ok()) return sums;
  return node.Emit(OpKind::kSub, {sums, Times(node, Totals(node, x, 1), zero)});
}

}  // namespace

// sum (x - zx) * (w - zw) over K  =  sum x * w  -  zx * sum w  -  zw * (sum x - K * zx), with w as
// int8. The second sum has one element per column, the third one per row. Products with a weight of
// two dimensions take data of either type. Without a kernel of bytes, the differences are
// multiplied.
int ProductOfBytes(OnnxNode& node, int a, IntegerZeroPoint a_zero, int b, IntegerZeroPoint b_zero) {
  if (!node.ok()) return -1;
  constexpr std::int64_t kDotDepth = 4, kRows = 8;  // of kernels of bytes
  const Shape shape = node.TypeOf(a).shape;
  if (node.Rank(b) != 2 && (shape.size() < 2 || shape.end()[-2] < kRows)) {
    return ProductOfFewRows(node, Offset(node, a, a_zero), b, b_zero);
  }
  if (node.Rank(b) != 2 && shape.back() % kDotDepth != 0) {
    return EmitMatmul(node, Offset(node, a, a_zero), Offset(node, b, b_zero), kInt32);
  }
  if (node.TypeOf(a).dtype == kInt8 && node.Rank(b) != 2) {
    a = Moved(node, a, kHalf, kUInt8);
    a_zero = Moved(node, a_zero, kHalf);
  }
  if (node.TypeOf(b).dtype == kUInt8) {
    b = Moved(node, b, -kHalf, kInt8);
    b_zero = Moved(node, b_zero, -kHalf);
  }
  int sums = EmitMatmul(node, a, b, kInt32);
  if (!node.ok()) return -1;
  if (a_zero.known != 0) {
    sums = node.Emit(OpKind::kSub, {sums, Times(node, Totals(node, b, 2), a_zero)});
  }
  return LessZeroOfWeight(node, sums, a, a_zero, b_zero);
}

// The same for the windows of a convolution. The sums of the data are those of all channels, then
// of a window.
int ConvolutionOfBytes(OnnxNode& node, int data, const IntegerZeroPoint& zero, int weight,
                       IntegerZeroPoint weight_zero) {
  if (!node.ok()) return -1;
  if (node.TypeOf(weight).dtype == kUInt8) {
    weight = Moved(node, weight, -kHalf, kInt8);
    weight_zero = Moved(node, weight_zero, -kHalf);
  }
  data = AsImage(node, data);
  weight = AsImage(node, weight);
  Operator op = ImageConvolution(node, data, weight);
  if (!node.ok()) return -1;
  const Shape kernel = node.TypeOf(weight).shape;
  const int sums = ConvolutionWithZeroPoint(node, data, zero, weight, op);
  if (weight_zero.known == 0) return sums;
  const int ones = node.EmitFilled({{1, 1, kernel[2], kernel[3]}, kInt32}, 1);
  const int windows = node.Emit(op, {Totals(node, data, 3), ones});
  const int taps = node.EmitScalar(kInt32, static_cast<double>(kernel[1] * kernel[2] * kernel[3]));
  const int above = node.Emit(OpKind::kSub, {windows, Times(node, taps, zero)});
  return node.Emit(OpKind::kSub, {sums, Times(node, above, weight_zero)});
}

int IntegerMatmulOfInputs(OnnxNode& node, int a_index, int a_zero, int b_index, int b_zero) {
  const int a = node.Input(a_index), b = node.Input(b_index);
  CheckZeroPointType(node, a_index, a_zero);
  CheckZeroPointType(node, b_index, b_zero);
  if (!node.ok()) return -1;
  if (node.Rank(a) < 2 || node.Rank(b) < 2) {
    node.FailUnsupported("operands are " + node.TypeOf(a).ToString() + " and " +
                         node.TypeOf(b).ToString() + ", expected at least 2 dimensions");
    return -1;
  }
  const int weight = CentredByInput(node, b, b_zero, node.Rank(b) - 1);
  const auto zero = UniformZeroPoint(node, a_zero);
  if (!node.ok()) return -1;
  const bool plain = node.Rank(b) == 2 && node.TypeOf(weight).dtype == kInt8;
  if (zero && plain) return IntegerMatmul(node, a, *zero, weight);
  const auto left = ZeroPointOfInput(node, a_zero);
  const auto right = node.Rank(b) == 2 ? ZeroPointsOfColumns(node, b_zero, node.TypeOf(b).shape[1])
                                       : ZeroPointOfInput(node, b_zero);
  const bool bytes = node.TypeOf(a).dtype.bits == 8 && node.TypeOf(b).dtype.bits == 8;
  if (left && plain) return ProductOfBytes(node, a, *left, weight, {0, -1});
  if (left && right && bytes) return ProductOfBytes(node, a, *left, b, *right);
  if (zero) return IntegerMatmul(node, a, *zero, weight);
  return IntegerMatmul(node, CentredByInput(node, a, a_zero, node.Rank(a) - 2), 0, weight);
}

DynamicallyQuantized EmitDynamicallyQuantized(OnnxNode& node, int data, bool unit_of_nothing) {
  if (node.ok() && node.TypeOf(data).dtype != kFloat32) {
    node.FailInvalid("the data to be quantized is " + node.TypeOf(data).ToString() +
                     ", expected float32");
  }
  const int low = node.Emit(OpKind::kMin, node.Emit(OpKind::kReduceMin, {data}), 0);
  const int high = node.Emit(OpKind::kMax, node.Emit(OpKind::kReduceMax, {data}), 0);
  const int range = node.Emit(OpKind::kSub, {high, low});
  const int steps = node.Emit(OpKind::kDiv, range, 255);
  DynamicallyQuantized result;
  if (unit_of_nothing) {
    const int none = node.Emit(OpKind::kEqual, range, 0);
    const int one = node.EmitScalar(node.TypeOf(data).dtype, 1);
    result.scale = node.Emit(OpKind::kWhere, {none, one, steps});
  } else {  // saves a kernel; the scale of zeros is arbitrary because 0 / scale is 0
    result.scale = node.Emit(OpKind::kMax, steps, std::numeric_limits<float>::min());
  }
  const int first = node.Emit(OpKind::kNegate, {node.Emit(OpKind::kDiv, {low, result.scale})});
  result.zero = EmitClip(node, node.Emit(OpKind::kRoundEven, {first}), 0, 255);
  const int units = node.Emit(OpKind::kDiv, {data, result.scale});
  const int rounded = node.Emit(OpKind::kRoundEven, {units});
  const int value = node.Emit(OpKind::kAdd, {rounded, result.zero});
  result.numbers = node.EmitCast(value, kUInt8, OpKind::kSaturateCast);
  return result;
}

ByteWeight EmitByteWeight(OnnxNode& node, int weight, const IntegerZeroPoint& zero) {
  ByteWeight result{weight, -1, zero};
  if (!node.ok()) return result;
  if (node.TypeOf(weight).dtype == kUInt8) {
    result.bytes = Moved(node, weight, -kHalf, kInt8);
    result.zero = Moved(node, zero, -kHalf);
  }
  result.bytes = node.EmitTranspose(result.bytes, {1, 0});
  if (!node.ok()) return result;
  const std::int64_t columns = node.TypeOf(result.bytes).shape[0];
  result.totals = node.EmitReshape(Totals(node, result.bytes, 1), {columns});
  return result;
}

int EmitDynamicProduct(OnnxNode& node, const DynamicallyQuantized& data, const ByteWeight& weight) {
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(data.numbers).shape;
  if (shape.empty()) {
    node.FailInvalid("an operand is a scalar, expected at least one dimension");
    return -1;
  }
  const std::int64_t depth = shape.back();
  const int rows =
      node.EmitReshape(data.numbers, {Product(shape) / std::max<std::int64_t>(depth, 1), depth});
  int sums = EmitDense(node, rows, weight.bytes, true, kInt32);
  if (!node.ok()) return -1;
  const IntegerZeroPoint zero{std::nullopt, node.EmitCast(data.zero, kInt32)};
  sums = node.Emit(OpKind::kSub, {sums, Times(node, weight.totals, zero)});
  sums = LessZeroOfWeight(node, sums, rows, zero, weight.zero);
  if (!node.ok()) return -1;
  shape.back() = node.TypeOf(sums).shape.back();
  return node.EmitReshape(sums, shape);
}

QuantizedRange QuantizedRange::Of(double scale, std::int64_t zero_point, DataType dtype) {
  const auto [low, high] = LimitsOf(dtype);
  return {scale, zero_point, dtype, low, high};
}

std::int64_t QuantizedRange::Quantize(double value) const {
  if (std::isnan(value)) return std::clamp(zero_point, low, high);
  // Quotient in float32, as in the definition; another precision could round differently.
  const float quotient = static_cast<float>(value) / static_cast<float>(scale);
  const double rounded =
      static_cast<double>(std::nearbyint(quotient)) + static_cast<double>(zero_point);
  return static_cast<std::int64_t>(
      std::clamp(rounded, static_cast<double>(low), static_cast<double>(high)));
}

bool QuantizedRange::IsWhole() const { return std::pair(low, high) == LimitsOf(dtype); }

int EmitRounded(OnnxNode& node, int value, const QuantizedRange& range) {
  if (range.zero_point != 0) {  // rounded before the addition, which could change ties
    value = node.Emit(OpKind::kRoundEven, {value});
    value = node.Emit(OpKind::kAdd,
                      {value, node.EmitScalar(kFloat32, static_cast<double>(range.zero_point))});
  }
  if (!range.IsWhole()) value = EmitClip(node, value, range.low, range.high);
  return node.EmitCast(value, range.dtype, OpKind::kSaturateCast);
}

int EmitNarrowed(OnnxNode& node, int value, const QuantizedRange& range) {
  if (range.zero_point != 0) {
    value = node.Emit(OpKind::kAdd,
                      {value, node.EmitScalar(kInt32, static_cast<double>(range.zero_point))});
  }
  return node.EmitCast(EmitClip(node, value, range.low, range.high), range.dtype);
}

int EmitFixedPoint(OnnxNode& node, int value, const Tensor& factors) {
  if (factors.elements() != 1) return EmitWideFixedPoint(node, value, factors);
  const double factor = factors.At(0);
  if (factor == 1) return value;
  const auto fixed = FixedPointOf(factor);
  if (!fixed) return FailFactor(node, factor);
  // Other factors would need a left shift before the product, or a right shift by 31 in int32.
  constexpr int kMinShift = -29;
  if (fixed->shift > 0 || fixed->shift < kMinShift) {
    return EmitWideFixedPoint(node, value, factors);
  }
  Operator op{OpKind::kFixedPointMultiply, {}};
  op.attributes.multiplier = fixed->multiplier;
  op.attributes.shift = fixed->shift;
  return node.Emit(op, {value});
}

int EmitRequantized(OnnxNode& node, int value, Tensor factors, const QuantizedRange& range) {
  if (!node.ok()) return -1;
  if (node.requantize() == Requantize::kByIntegers) {
    return EmitNarrowed(node, EmitFixedPoint(node, value, factors), range);
  }
  const int real = node.EmitCast(value, kFloat32);
  const int scaled = node.Emit(OpKind::kMul, {real, node.EmitConstant(std::move(factors))});
  return EmitRounded(node, scaled, range);
}

}  // namespace tilewright
