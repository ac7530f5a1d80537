// Quantized operators, decomposed into operators of the graph with the same results to the last bit
// (unless the import requests integer requantization). A quantized integer q represents (q -
// zero_point) * scale.

#include <algorithm>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/quantized/integer.h"
#include "src/graph/onnx/operators/quantized/qdq.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Returns the quantization parameters of a node's result; scale and zero point are inputs.
QuantizedRange ResultRange(OnnxNode& node, int scale_index, int zero_index) {
  const auto scales = Scales(node, scale_index, 1);
  const std::int64_t zero = ZeroPoint(node, zero_index);
  const TensorType type = node.InputType(zero_index);
  if (!node.ok()) return {};
  node.DescribeOutput(0, {scales, 0, zero});
  return QuantizedRange::Of(scales[0], zero, type.dtype);
}

// Returns x_scale * w_scale / y_scale in float32; one per channel, in the shape `channels`, if
// there are several w_scales.
Tensor Factors(float x, const std::vector<float>& w, double y, const Shape& channels) {
  Tensor factors(TensorType{w.size() == 1 ? Shape() : channels, kFloat32});
  for (std::size_t i = 0; i < w.size(); ++i) {
    factors.As<float>()[i] = x * w[i] / static_cast<float>(y);
  }
  return factors;
}

struct ConvolutionInputs {
  int x, w, x_zero, w_zero;
};

// Emits the sums of a convolution of 8-bit operands whose zero points are not those of the plain
// form: that of the data is computed, or the weight is not int8 when it is centred. -1 if the plain
// form is better.
int ConvolutionOfInputs(OnnxNode& node, int centred, const ConvolutionInputs& of) {
  if (!node.ok() || node.Rank(node.Input(of.x)) > 4) return -1;
  const auto zero = ZeroPointOfInput(node, of.x_zero);
  const bool is_int8 = node.TypeOf(centred).dtype == kInt8;
  if (!node.ok() || !zero || (is_int8 && zero->known)) return -1;
  if (is_int8) return ConvolutionOfBytes(node, node.Input(of.x), *zero, centred, {0, -1});
  const auto weight_zero = ZeroPointOfInput(node, of.w_zero);
  if (!weight_zero || node.Int("group", 1) != 1) return -1;
  return ConvolutionOfBytes(node, node.Input(of.x), *zero, node.Input(of.w), *weight_zero);
}

// Inputs: x, w, x_zero, w_zero
void ImportConvInteger(OnnxNode& node) {
  CheckZeroPointType(node, 0, 2);
  CheckZeroPointType(node, 1, 3);
  const int weight = CentredByInput(node, node.Input(1), 3, 0);
  const auto zero = UniformZeroPoint(node, 2);
  const int bytes = ConvolutionOfInputs(node, weight, {.x = 0, .w = 1, .x_zero = 2, .w_zero = 3});
  if (bytes >= 0 || !node.ok()) return node.SetOutput(FromImage(node, bytes));
  const int data = zero ? node.Input(0) : CentredByInput(node, node.Input(0), 2, 1);
  node.SetOutput(FromImage(node, IntegerConvolution(node, data, zero.value_or(0), weight)));
}

// Inputs: a, b, a_zero (one, or one per row), b_zero (one, or one per column); int32.
void ImportMatMulInteger(OnnxNode& node) {
  node.SetOutput(IntegerMatmulOfInputs(node, 0, 2, 1, 3));
}

// Inputs: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias
void ImportQLinearConv(OnnxNode& node) {
  CheckZeroPointType(node, 0, 2);
  CheckZeroPointType(node, 3, 5);
  const int weight = CentredByInput(node, node.Input(3), 5, 0);
  const std::int64_t zero = ZeroPoint(node, 2);
  int sum = ConvolutionOfInputs(node, weight, {.x = 0, .w = 3, .x_zero = 2, .w_zero = 5});
  if (sum < 0) sum = IntegerConvolution(node, node.Input(0), zero, weight);
  sum = AddBias(node, sum, 8);
  if (!node.ok()) return;
  const std::int64_t channels = node.InputType(3).shape[0];
  const auto x_scale = Scales(node, 1, 1), w_scales = Scales(node, 4, channels);
  const QuantizedRange range = ResultRange(node, 6, 7);
  if (!node.ok()) return;
  node.DescribeInput(0, {x_scale, 0, zero});
  Tensor factors = Factors(x_scale[0], w_scales, range.scale, {channels, 1, 1});
  node.SetOutput(FromImage(node, EmitRequantized(node, sum, std::move(factors), range)));
}

// Returns the shape to which scales of these shapes broadcast. Errors: it does not broadcast to the
// result.
Shape ScalesShape(OnnxNode& node, const Shape& a, const Shape& b, const Shape& result) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (const Shape* scales : {&a, &b}) {
    for (std::size_t i = 0; i < scales->size(); ++i) {  // counted from the last dimension
      const std::int64_t extent = (*scales)[scales->size() - 1 - i];
      const bool fits =
          i < result.size() && (extent == 1 || extent == result[result.size() - 1 - i]);
      if (!fits) {
        node.FailInvalid(
            "scales are " + node.InputType(1).ToString() + " and " + node.InputType(4).ToString() +
            ", expected one each, or one per row (input 1) and one per column (input 4)");
        return {};
      }
      std::int64_t& joined = shape[shape.size() - 1 - i];
      joined = std::max(joined, extent);
    }
  }
  return shape;
}

// Returns the position in a tensor of shape `from` that broadcasts to element `i` of shape `to`.
std::size_t PlaceIn(const Shape& from, std::int64_t i, const Shape& to) {
  std::int64_t place = 0, stride = 1;
  for (std::size_t d = 0; d < to.size(); ++d) {  // counted from the last dimension
    const std::int64_t at = i % to[to.size() - 1 - d];
    i /= to[to.size() - 1 - d];
    if (d >= from.size()) continue;
    const std::int64_t extent = from[from.size() - 1 - d];
    if (extent != 1) place += at * stride;
    stride *= extent;
  }
  return static_cast<std::size_t>(place);
}

// Inputs: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
void ImportQLinearMatMul(OnnxNode& node) {
  const int sum = IntegerMatmulOfInputs(node, 0, 2, 3, 5);
  if (!node.ok()) return;
  const auto a_scales = Scales(node, 1, 0), b_scales = Scales(node, 4, 0);
  const QuantizedRange range = ResultRange(node, 6, 7);
  if (!node.ok()) return;
  const Shape result = node.TypeOf(sum).shape;
  // One scale, or one per row or per column, possibly for each matrix.
  Shape a_shape = node.InputType(1).shape, b_shape = node.InputType(4).shape;
  if (a_shape.size() == 1) a_shape.push_back(1);
  if (a_scales.size() == 1 && b_scales.size() == 1) a_shape = b_shape = {};
  const auto factors_shape = ScalesShape(node, a_shape, b_shape, result);
  if (!node.ok()) return;
  Tensor factors(TensorType{factors_shape, kFloat32});
  for (std::int64_t i = 0; i < factors.elements(); ++i) {
    const auto y_scale = static_cast<float>(range.scale);
    factors.As<float>()[static_cast<std::size_t>(i)] =
        a_scales[PlaceIn(a_shape, i, factors_shape)] *
        b_scales[PlaceIn(b_shape, i, factors_shape)] / y_scale;
  }
  node.SetOutput(EmitRequantized(node, sum, std::move(factors), range));
}

// Returns how many elements along the axis share a scale; 0 if a scale covers all other dimensions
// or the whole tensor.
std::int64_t ScaleBlock(OnnxNode& node) {
  const std::int64_t size = node.Int("block_size", 0);
  return node.InputType(1).elements() == 1 ? 0 : size;
}

// Checks that the scales have the shape of the data except along `axis`, where each block of `size`
// elements has one. Errors: kInvalidArgument.
void CheckBlocks(OnnxNode& node, std::int64_t axis, std::int64_t size) {
  Shape expected = node.InputType(0).shape;
  if (!node.ok()) return;
  std::int64_t& extent = expected[static_cast<std::size_t>(axis)];
  if (size > 0) extent = (extent + size - 1) / size;
  if (size > 0 && node.InputType(1).shape == expected) return;
  node.FailInvalid("scales " + node.InputType(1).ToString() + " do not fit blocks of " +
                   std::to_string(size) + " along dimension " + std::to_string(axis) + " of " +
                   node.InputType(0).ToString());
}

// Returns the axis of scales per channel or per block; 0 for a single scale, which has no axis.
std::int64_t ScaleAxis(OnnxNode& node) {
  const std::int64_t given = node.Int("axis", 1), block = ScaleBlock(node);
  const bool per_channel = node.InputType(1).elements() != 1;
  if (!per_channel) return 0;
  const std::int64_t axis = node.Axis(given, node.Rank(node.Input(0)));
  const std::int64_t scales = node.InputType(1).elements();
  if (block != 0) CheckBlocks(node, axis, block);
  if (!node.ok() || block != 0) return axis;
  const TensorType data = node.InputType(0);
  if (node.Rank(node.Input(1)) != 1 || data.shape[static_cast<std::size_t>(axis)] != scales) {
    node.FailInvalid("scales " + node.InputType(1).ToString() + " do not fit dimension " +
                     std::to_string(axis) + " of " + data.ToString());
  }
  return axis;
}

// Broadcasts scales or zero points to the data (input 0). Values per block are repeated along the
// axis.
int Spread(OnnxNode& node, int id, std::int64_t axis) {
  const std::int64_t size = ScaleBlock(node);
  if (!node.ok()) return -1;
  const Shape data = node.TypeOf(node.Input(0)).shape;
  if (size == 0 || node.TypeOf(id).elements() == 1) {
    return AlongAxis(node, id, axis, std::ssize(data));
  }
  const auto at = static_cast<std::size_t>(axis);
  Shape shape = node.TypeOf(id).shape, split = shape;
  split.insert(split.begin() + axis + 1, 1);
  Operator repeat{OpKind::kBroadcastTo, {}};
  repeat.attributes.new_shape = split;
  repeat.attributes.new_shape[at + 1] = size;
  shape[at] *= size;
  const int whole = node.EmitReshape(node.Emit(repeat, {node.EmitReshape(id, split)}), shape);
  if (shape == data) return whole;
  Operator slice = WholeSlice(shape);  // the last block may be incomplete
  slice.attributes.end = data;
  return node.Emit(slice, {whole});
}

// Returns the element type in an attribute; `fallback` if absent.
DataType TypeAttribute(OnnxNode& node, std::string_view name, DataType fallback) {
  const std::int64_t code = node.Int(name, 0);
  if (code == 0) return fallback;
  auto dtype = DataTypeOfOnnx(static_cast<std::int32_t>(code));
  if (dtype.ok()) return *dtype;
  node.Fail(dtype.status());
  return fallback;
}

// Returns the float type in an attribute, or that of the scale.
DataType RealType(OnnxNode& node, std::string_view name) {
  const DataType dtype = TypeAttribute(node, name, node.InputType(1).dtype);
  if (node.ok() && !dtype.is_float()) {
    node.FailUnsupported("scales or attribute " + std::string(name) + " of type " +
                         DataTypeName(dtype) + ", expected floats");
  }
  return dtype;
}

// Returns the integer type of QuantizeLinear's result: that of the zero point, or the attribute's.
DataType QuantizedType(OnnxNode& node) {
  const DataType named = TypeAttribute(node, "output_dtype", kUInt8);
  if (!node.HasInput(2)) return named;
  const DataType dtype = node.InputType(2).dtype;
  if (node.Int("output_dtype", 0) != 0 && named != dtype) {
    node.FailInvalid("attribute output_dtype names " + DataTypeName(named) +
                     ", the zero point is " + DataTypeName(dtype));
  }
  return dtype;
}

// Checks that there are as many zero points as scales, in blocks in the same shape. Errors:
// kInvalidArgument.
void CheckZeroPoints(OnnxNode& node) {
  if (!node.HasInput(2)) return;
  const TensorType zeros = node.InputType(2), scales = node.InputType(1);
  if (!node.ok()) return;
  const bool blocks = ScaleBlock(node) != 0;
  if (blocks ? zeros.shape == scales.shape : zeros.elements() == scales.elements()) return;
  node.FailInvalid("zero points " + zeros.ToString() + " and scales " + scales.ToString() +
                   " differ in " + (blocks ? "shape" : "number"));
}

void ImportQuantizeLinear(OnnxNode& node) {
  node.IgnoreAttributes({"saturate"});  // attribute of float8, which is rejected
  const int data = node.Input(0);
  const std::int64_t axis = ScaleAxis(node);
  const DataType dtype = QuantizedType(node);
  const auto zero = UniformZeroPoint(node, 2);
  CheckZeroPoints(node);
  if (!node.ok()) return;
  if (!dtype.is_integer() || dtype.bits > 16) {
    return node.FailUnsupported("quantized integers of type " + DataTypeName(dtype) +
                                ", expected 8 or 16 bits");
  }
  const DataType real = RealType(node, "precision");
  if (zero && node.InputType(1).elements() == 1 && node.Known(1) != nullptr) {
    const auto scales = Scales(node, 1, 1);
    if (!node.ok()) return;
    node.DescribeOutput(0, {scales, 0, *zero});
    const int integers =
        QuantizeByIntegers(node, data, QuantizedRange::Of(scales[0], *zero, dtype));
    if (integers >= 0 || !node.ok()) return node.SetOutput(integers);
  }
  const int scale = Spread(node, node.EmitCast(node.Input(1), real), axis);
  int value = node.Emit(OpKind::kDiv, {node.EmitCast(data, real), scale});
  value = node.EmitCast(value, kFloat32);
  if (zero) {
    return node.SetOutput(EmitRounded(node, value, QuantizedRange::Of(1, *zero, dtype)));
  }
  const int zeros = Spread(node, node.EmitCast(node.Input(2), kFloat32), axis);
  value = node.Emit(OpKind::kAdd, {node.Emit(OpKind::kRoundEven, {value}), zeros});
  node.SetOutput(node.EmitCast(value, dtype, OpKind::kSaturateCast));
}

// Computes scale and zero point of uint8 integers from the minimum and the maximum of the elements
// and 0: y, y_scale, y_zero.
void ImportDynamicQuantizeLinear(OnnxNode& node) {
  const DynamicallyQuantized made = EmitDynamicallyQuantized(node, node.Input(0), true);
  node.SetOutput(made.numbers);
  node.SetOutput(made.scale, 1);
  node.SetOutput(node.EmitCast(made.zero, kUInt8, OpKind::kSaturateCast), 2);
}

// Records the integers that the result represents, so that its readers can compute with them.
void RememberQuantized(OnnxNode& node, int result, std::int64_t axis) {
  const Tensor* scales = node.Known(1);
  const bool known = scales != nullptr && scales->dtype().is_float() &&
                     (!node.HasInput(2) || node.Known(2) != nullptr);
  if (!known || !node.ok()) return;
  QuantizedValue quantized{node.Input(0), {Scales(node, 1, 0), axis, 0}};
  const auto zero = UniformZeroPoint(node, 2);
  if (!node.ok()) return;
  if (zero) {
    quantized.quantization_params.zero_point = *zero;
    node.DescribeInput(0, quantized.quantization_params);
  } else {
    quantized.id = CentredByInput(node, quantized.id, 2, axis);
  }
  node.SetQuantized(result, std::move(quantized));
}

// Records a constant in blocks, so that products can keep it in few bits.
void RememberBlocks(OnnxNode& node, int result, std::int64_t axis) {
  const std::int64_t block = ScaleBlock(node);
  if (!node.ok() || block == 0) return;
  const StorageType* stored = node.StorageTypeOfInput(0);
  DequantizedBlocks blocks{node.Input(0), node.Input(1)};
  if (node.HasInput(2)) blocks.zeros = node.Input(2);
  const DataType dtype = node.TypeOf(blocks.integers).dtype;
  if (dtype.bits > 8) return;
  blocks.axis = axis, blocks.block = block;
  blocks.bits = stored == nullptr ? dtype.bits : stored->bits;
  if (dtype.code == TypeCode::kInt) blocks.low = -(std::int64_t{1} << (blocks.bits - 1));
  node.SetBlocks(result, blocks);
}

void ImportDequantizeLinear(OnnxNode& node) {
  int value = node.Input(0);
  const std::int64_t axis = ScaleAxis(node);
  const DataType real = RealType(node, "output_dtype");
  CheckZeroPoints(node);
  if (!node.ok()) return;
  // Elements of a float storage type are float constants here.
  const bool integers = node.TypeOf(value).dtype.is_integer();
  if (!integers && node.StorageTypeOfInput(0) == nullptr) {
    return node.FailUnsupported("input 0 is " + node.TypeOf(value).ToString() +
                                ", expected quantized integers");
  }
  CheckZeroPointType(node, 0, 2);
  if (!node.ok()) return;
  if (node.HasInput(2) && !integers) {
    const int zero = Spread(node, node.Input(2), axis);
    value = node.Emit(OpKind::kSub, {value, zero});
  } else if (node.HasInput(2)) {
    const int zero = Spread(node, node.EmitCast(node.Input(2), kInt32), axis);
    const Tensor* known = node.Known(2);
    const bool none = known != nullptr && known->elements() == 1 && known->At(0) == 0;
    if (!none) value = node.Emit(OpKind::kSub, {node.EmitCast(value, kInt32), zero});
  }
  const int scale = Spread(node, node.EmitCast(node.Input(1), kFloat32), axis);
  const int result = node.Emit(OpKind::kMul, {node.EmitCast(value, kFloat32), scale});
  if (real == kFloat32) {
    if (integers && ScaleBlock(node) == 0) RememberQuantized(node, result, axis);
    if (integers) RememberBlocks(node, result, axis);
  } else {
    node.Note("operators behind DequantizeLinear of " + DataTypeName(real) +
              " are computed in floats: only float32 scales have an integer form; quantize the "
              "float32 model");
  }
  node.SetOutput(node.EmitCast(result, real));
}

constexpr OnnxHandlerEntry kQuantizedHandlers[] = {
    {"ConvInteger", &ImportConvInteger},
    {"DequantizeLinear", &ImportDequantizeLinear},
    {"DynamicQuantizeLinear", &ImportDynamicQuantizeLinear},
    {"MatMulInteger", &ImportMatMulInteger},
    {"QLinearConv", &ImportQLinearConv},
    {"QLinearMatMul", &ImportQLinearMatMul},
    {"QuantizeLinear", &ImportQuantizeLinear},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxQuantizedHandlers() { return kQuantizedHandlers; }

}  // namespace tilewright
