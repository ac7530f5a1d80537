// Quantized operators, decomposed into ours with the same results to the last bit.
//
// A quantized number q stands for (q - zero_point) * scale. Products of whole tensors are taken on
// the stored integers and corrected, so that the fast integer kernels apply:
//   sum (x - zx) * w  =  sum x * w  -  zx * sum w
// where the second term is one number per output channel, folded before the network runs. It needs
// every tap to be there, so a convolution with zx != 0 has its padding as an operator in front,
// with the value zx. Weights that are not signed 8 bit numbers around zero are shifted to a wider
// type: they are constants, so that costs nothing but the wider product.

#include <algorithm>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

// The one zero point of input `index`; 0 if it is absent. Per-channel ones must be equal.
std::int64_t ZeroPoint(OnnxNode& node, int index) {
  if (!node.HasInput(index)) return 0;
  const Tensor* contents = node.Known(index);
  if (!node.ok()) return 0;
  const bool fits = contents != nullptr && contents->elements() > 0 &&
                    contents->dtype().is_integer() && contents->dtype().bits <= 16;
  if (!fits) {
    node.FailUnsupported("zero point (input " + std::to_string(index) +
                         ") must be integers of 8 or 16 bits, known before the network runs");
    return 0;
  }
  for (std::int64_t i = 1; i < contents->elements(); ++i) {
    if (contents->At(i) != contents->At(0)) {
      node.FailUnsupported("zero points (input " + std::to_string(index) +
                           ") differ between channels, expected equal ones");
    }
  }
  return static_cast<std::int64_t>(contents->At(0));
}

// Scales of input `index` as float32; `count` is 1 or the number of channels.
std::vector<float> Scales(OnnxNode& node, int index, std::int64_t channels) {
  const Tensor* contents = node.Known(index);
  if (!node.ok()) return {};
  if (contents == nullptr || (contents->elements() != 1 && contents->elements() != channels)) {
    node.FailUnsupported("scale (input " + std::to_string(index) +
                         ") must be one number or one per channel, known before the network runs");
    return {};
  }
  std::vector<float> scales;
  for (std::int64_t i = 0; i < contents->elements(); ++i) {
    scales.push_back(static_cast<float>(contents->At(i)));
  }
  return scales;
}

// `id` minus its zero point, in the narrowest type that holds every difference.
int Centred(OnnxNode& node, int id, std::int64_t zero_point) {
  const DataType dtype = node.TypeOf(id).dtype;
  if (zero_point == 0) return id;
  const int wide = node.EmitCast(id, kInt16);
  const int moved = node.Emit(OpKind::kSub, {wide, node.EmitScalar(kInt16, zero_point)});
  const bool fits = dtype == kUInt8 && zero_point == 128;
  return fits ? node.EmitCast(moved, kInt8) : moved;
}

// The weight as it is multiplied: signed 8 bit where it is, or can be moved there.
int CentredWeight(OnnxNode& node, int id, std::int64_t zero_point) {
  if (node.TypeOf(id).dtype == kUInt8 && zero_point == 0) return node.EmitCast(id, kInt16);
  return Centred(node, id, zero_point);
}

// sum - zero_point * (sum of each channel's weights), which has the shape `shape`.
int CorrectZeroPoint(OnnxNode& node, int sum, int weight, std::int64_t zero_point,
                     std::vector<std::int64_t> axes, std::vector<std::int64_t> shape) {
  if (zero_point == 0) return sum;
  Operator reduce{OpKind::kReduceSum, {}};
  reduce.attributes.axes = std::move(axes);
  const int totals = node.Emit(reduce, {node.EmitCast(weight, kInt32)});
  const int scaled = node.Emit(OpKind::kMul, {totals, node.EmitScalar(kInt32, zero_point)});
  return node.Emit(OpKind::kSub, {sum, node.EmitReshape(scaled, std::move(shape))});
}

// Integer convolution with zero points; int32 [N,K,H,W].
int IntegerConvolution(OnnxNode& node, int data, int weight, std::int64_t data_zero,
                       std::int64_t weight_zero) {
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(data), kernel = node.TypeOf(weight);
  if (type.shape.size() != 4 || kernel.shape.size() != 4) {
    node.FailUnsupported("data is " + type.ToString() + " and weight " + kernel.ToString() +
                         ", expected 4 dimensions");
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
  weight = CentredWeight(node, weight, weight_zero);
  const int sum = node.Emit(op, {data, weight});
  return CorrectZeroPoint(node, sum, weight, data_zero, {1, 2, 3}, {kernel.shape[0], 1, 1});
}

// Integer matrix product of 2-D operands with zero points; int32 [M,N].
int IntegerMatmul(OnnxNode& node, int a, int b, std::int64_t a_zero, std::int64_t b_zero) {
  if (!node.ok()) return -1;
  const std::vector<std::int64_t> shape_a = node.TypeOf(a).shape, shape_b = node.TypeOf(b).shape;
  if (shape_a.size() < 2 || shape_b.size() != 2) {
    node.FailUnsupported("operands are " + node.TypeOf(a).ToString() + " and " +
                         node.TypeOf(b).ToString() + ", expected [..., M, K] and [K, N]");
    return -1;
  }
  const std::int64_t depth = shape_a.back(), rows = node.TypeOf(a).elements() / depth;
  const int weight = node.EmitTranspose(CentredWeight(node, b, b_zero), {1, 0});
  Operator op{OpKind::kDense, {}};
  op.attributes.data_layout = "MK";
  op.attributes.kernel_layout = "NK";
  op.attributes.dtype = kInt32;
  const int sum = node.Emit(op, {node.EmitReshape(a, {rows, depth}), weight});
  const int result = CorrectZeroPoint(node, sum, weight, a_zero, {1}, {shape_b[1]});
  std::vector<std::int64_t> shape(shape_a.begin(), shape_a.end() - 1);
  shape.push_back(shape_b[1]);
  return node.EmitReshape(result, shape);
}

// round(value) + zero_point, saturated to `dtype`; `value` is float.
int Saturate(OnnxNode& node, int value, std::int64_t zero_point, DataType dtype) {
  if (zero_point != 0) {  // rounded before the addition, which could change what is half way
    value = node.Emit(OpKind::kRoundEven, {value});
    value = node.Emit(OpKind::kAdd, {value, node.EmitScalar(kFloat32, zero_point)});
  }
  return node.EmitCast(value, dtype, OpKind::kSaturateCast);
}

// int32 sums to a quantized tensor: multiplied by x_scale * w_scale / y_scale in float32. `shape`
// is that of per-channel scales.
int Requantize(OnnxNode& node, int sum, int x_scale, int w_scale, int y_scale, int y_zero,
               std::int64_t channels, std::vector<std::int64_t> shape) {
  const auto xs = Scales(node, x_scale, 1), ys = Scales(node, y_scale, 1);
  const auto ws = Scales(node, w_scale, channels);
  const std::int64_t zero = ZeroPoint(node, y_zero);
  const DataType dtype = node.InputType(y_zero).dtype;
  if (!node.ok()) return -1;
  Tensor factors(TensorType{ws.size() == 1 ? std::vector<std::int64_t>{} : shape, kFloat32});
  for (std::size_t i = 0; i < ws.size(); ++i) factors.As<float>()[i] = xs[0] * ws[i] / ys[0];
  const int value = node.EmitCast(sum, kFloat32);
  const int scaled = node.Emit(OpKind::kMul, {value, node.EmitConstant(std::move(factors))});
  return Saturate(node, scaled, zero, dtype);
}

void ImportConvInteger(OnnxNode& node) {
  node.SetOutput(IntegerConvolution(node, node.Input(0), node.Input(1), ZeroPoint(node, 2),
                                    ZeroPoint(node, 3)));
}

void ImportMatMulInteger(OnnxNode& node) {
  node.SetOutput(
      IntegerMatmul(node, node.Input(0), node.Input(1), ZeroPoint(node, 2), ZeroPoint(node, 3)));
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias
void ImportQLinearConv(OnnxNode& node) {
  int sum = IntegerConvolution(node, node.Input(0), node.Input(3), ZeroPoint(node, 2),
                               ZeroPoint(node, 5));
  if (!node.ok()) return;
  const std::int64_t channels = node.InputType(3).shape[0];
  if (node.HasInput(8)) {
    sum = node.Emit(OpKind::kAdd, {sum, node.EmitReshape(node.Input(8), {channels, 1, 1})});
  }
  node.SetOutput(Requantize(node, sum, 1, 4, 6, 7, channels, {channels, 1, 1}));
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
void ImportQLinearMatMul(OnnxNode& node) {
  const int sum =
      IntegerMatmul(node, node.Input(0), node.Input(3), ZeroPoint(node, 2), ZeroPoint(node, 5));
  if (!node.ok()) return;
  const std::int64_t columns = node.InputType(3).shape[1];
  node.SetOutput(Requantize(node, sum, 1, 4, 6, 7, columns, {columns}));
}

// A per-channel vector, shaped to broadcast along `axis` of a tensor of this rank.
int AlongAxis(OnnxNode& node, int id, std::int64_t axis, std::int64_t rank) {
  if (!node.ok() || node.TypeOf(id).elements() == 1) return id;
  if (axis >= rank) {
    node.FailInvalid(node.TypeOf(id).ToString() + " per channel of a value of " +
                     std::to_string(rank) + " dimensions");
    return -1;
  }
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank - axis), 1);
  shape[0] = node.TypeOf(id).elements();
  return node.EmitReshape(id, shape);
}

// The axis of per-channel scales; 0 for one scale, where it means nothing.
std::int64_t ScaleAxis(OnnxNode& node) {
  const bool per_channel = node.InputType(1).elements() != 1;
  return per_channel ? node.Axis(node.Int("axis", 1), node.Rank(node.Input(0))) : 0;
}

void ImportQuantizeLinear(OnnxNode& node) {
  const int data = node.Input(0);
  const std::int64_t axis = ScaleAxis(node), zero = ZeroPoint(node, 2);
  const DataType dtype = node.HasInput(2) ? node.InputType(2).dtype : kUInt8;
  const int scale = AlongAxis(node, node.Input(1), axis, node.Rank(data));
  const int value = node.EmitCast(data, kFloat32);
  node.SetOutput(Saturate(node, node.Emit(OpKind::kDiv, {value, scale}), zero, dtype));
}

void ImportDequantizeLinear(OnnxNode& node) {
  int value = node.Input(0);
  const std::int64_t axis = ScaleAxis(node), rank = node.Rank(value);
  if (node.HasInput(2) && node.ok()) {
    if (node.InputType(2).elements() != node.InputType(1).elements()) {
      return node.FailInvalid("zero points " + node.InputType(2).ToString() + " and scales " +
                              node.InputType(1).ToString() + " differ in number");
    }
    const int zero = AlongAxis(node, node.EmitCast(node.Input(2), kInt32), axis, rank);
    const Tensor* known = node.Known(2);
    const bool none = known != nullptr && known->elements() == 1 && known->At(0) == 0;
    if (!none) value = node.Emit(OpKind::kSub, {node.EmitCast(value, kInt32), zero});
  }
  const int scale = AlongAxis(node, node.Input(1), axis, rank);
  node.Return(Operator{OpKind::kMul, {}}, {node.EmitCast(value, kFloat32), scale});
}

constexpr OnnxHandlerEntry kHandlers[] = {
    {"ConvInteger", &ImportConvInteger},     {"DequantizeLinear", &ImportDequantizeLinear},
    {"MatMulInteger", &ImportMatMulInteger}, {"QLinearConv", &ImportQLinearConv},
    {"QLinearMatMul", &ImportQLinearMatMul}, {"QuantizeLinear", &ImportQuantizeLinear},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxQuantizedHandlers() { return kHandlers; }

}  // namespace tilewright
