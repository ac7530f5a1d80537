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

// Emits sum - zero_point * (sum of each channel's weights). The correction has shape `shape`.
int CorrectZeroPoint(OnnxNode& node, int sum, int weight, std::int64_t zero_point, Shape axes,
                     Shape shape) {
  if (zero_point == 0) return sum;
  Operator reduce{OpKind::kReduceSum, {}};
  reduce.attributes.axes = std::move(axes);
  const int totals = node.Emit(reduce, {node.EmitCast(weight, kInt32)});
  const int scaled = node.Emit(OpKind::kMul, {totals, node.EmitScalar(kInt32, zero_point)});
  return node.Emit(OpKind::kSub, {sum, node.EmitReshape(scaled, std::move(shape))});
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
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(data), kernel = node.TypeOf(weight);
  if (type.shape.size() != 4 || kernel.shape.size() != 4) {
    node.FailUnsupported("data is " + type.ToString() + " and weight " + kernel.ToString() +
                         ", expected 3 to 5 dimensions, as many for both");
    return -1;
  }
  Operator op{OpKind::kConv2d, WindowAttributes(node, type, {kernel.shape[2], kernel.shape[3]})};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  op.attributes.dtype = kInt32;
  auto& padding = op.attributes.padding;
  if (data_zero != 0 && std::ranges::any_of(padding, [](std::int64_t p) { return p != 0; })) {
    Operator pad{OpKind::kPad, {}};
    pad.attributes.pad_width = {0, 0, 0, 0, padding[0], padding[2], padding[1], padding[3]};
    pad.attributes.pad_value = static_cast<double>(data_zero);
    data = node.Emit(pad, {data});
    padding = {0, 0, 0, 0};
  }
  const int sum = node.Emit(op, {data, weight});
  return CorrectZeroPoint(node, sum, weight, data_zero, {1, 2, 3}, {kernel.shape[0], 1, 1});
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

// For a weight of two dimensions the zero point is subtracted from the sums, so that the product
// itself has 8-bit operands.
int EmitDynamicProduct(OnnxNode& node, const DynamicallyQuantized& data, int weight,
                       bool transposed) {
  if (!node.ok()) return -1;
  if (node.Rank(weight) != 2) {
    const int zero = node.EmitCast(data.zero, kInt16);
    const int centred = node.Emit(OpKind::kSub, {node.EmitCast(data.numbers, kInt16), zero});
    return IntegerMatmul(node, centred, 0, weight);
  }
  Operator total{OpKind::kReduceSum, {}};
  total.attributes.axes = {transposed ? 1 : 0};
  const int totals = node.Emit(total, {node.EmitCast(weight, kInt32)});
  const int moved = node.Emit(OpKind::kMul, {totals, node.EmitCast(data.zero, kInt32)});
  const int sums = IntegerMatmul(node, data.numbers, 0, weight, transposed);
  return node.Emit(OpKind::kSub, {sums, moved});
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
