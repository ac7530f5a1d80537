// Operators of ONNX Runtime's QOperator format: float operators on quantized integers (domain
// com.microsoft), with scales and zero points of their inputs and of their result. The
// implementation subtracts the zero points, computes in float32 in the order of ONNX Runtime, and
// rounds once. Results are therefore equal to the last bit, including ties: sums, products and
// averages add the zero point before they round, all others after.

#include <algorithm>
#include <array>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/quantized/integer.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Quantized input and its quantization parameters.
struct QuantizedInput {
  int id = -1;
  float scale = 1;
  std::int64_t zero_point = 0;
};

// Reads integers, scale and zero point from the inputs from `index` on.
QuantizedInput ReadQuantized(OnnxNode& node, int index) {
  QuantizedInput input{node.Input(index)};
  const auto scales = Scales(node, index + 1, 1);
  input.zero_point = ZeroPoint(node, index + 2);
  if (!node.ok()) return input;
  const DataType dtype = node.TypeOf(input.id).dtype;
  if (!dtype.is_integer() || dtype.bits > 16) {
    node.FailInvalid("input " + std::to_string(index) + " is " + node.TypeOf(input.id).ToString() +
                     ", expected integers of 8 or 16 bits");
    return input;
  }
  CheckZeroPointType(node, index, index + 2);
  if (!node.ok()) return input;
  input.scale = scales[0];
  node.DescribeInput(index, {scales, 0, input.zero_point});
  return input;
}

// Reads scale and zero point of the result. Without a zero point it is 0 and the type is that of
// the data.
QuantizedRange StoredRange(OnnxNode& node, int scale_index, DataType fallback) {
  const auto scales = Scales(node, scale_index, 1);
  const std::int64_t zero = ZeroPoint(node, scale_index + 1);
  const DataType dtype =
      node.HasInput(scale_index + 1) ? node.InputType(scale_index + 1).dtype : fallback;
  if (!node.ok()) return {};
  if (dtype.bits > 16) {
    node.FailInvalid("the zero point of the result is " + DataTypeName(dtype) +
                     ", expected 8 or 16 bits");
    return {};
  }
  node.DescribeOutput(0, {scales, 0, zero});
  return QuantizedRange::Of(scales[0], zero, dtype);
}

// Emits number - zero_point, exact in float32.
int ExactOffset(OnnxNode& node, const QuantizedInput& input) {
  const int real = node.EmitCast(input.id, kFloat32);
  if (input.zero_point == 0) return real;
  return node.Emit(OpKind::kSub, real, static_cast<double>(input.zero_point));
}

int Real(OnnxNode& node, const QuantizedInput& input) {
  return node.Emit(OpKind::kMul, ExactOffset(node, input), static_cast<double>(input.scale));
}

// Rounds a value in units of the result after the zero point was added. Ties round to the even sum,
// so only the parity of the zero point is added before the rounding. Adding all of it would cancel
// digits and create ties.
void ReturnMoved(OnnxNode& node, int value, const QuantizedRange& range) {
  const std::int64_t odd = range.zero_point % 2 != 0 ? 1 : 0;
  if (odd != 0) value = node.Emit(OpKind::kAdd, value, 1.0);
  if (range.zero_point != 0) value = node.Emit(OpKind::kRoundEven, {value});
  if (range.zero_point != odd) {
    value = node.Emit(OpKind::kAdd, value, static_cast<double>(range.zero_point - odd));
  }
  node.SetOutput(node.EmitCast(value, range.dtype, OpKind::kSaturateCast));
}

// Rounds a real value and then adds the zero point.
int Quantized(OnnxNode& node, int value, const QuantizedRange& range) {
  return EmitRounded(node, node.Emit(OpKind::kDiv, value, range.scale), range);
}

void ImportQLinearAdd(OnnxNode& node) {
  const QuantizedInput a = ReadQuantized(node, 0), b = ReadQuantized(node, 3);
  const QuantizedRange range = StoredRange(node, 6, node.TypeOf(a.id).dtype);
  if (!node.ok()) return;
  const auto scale = static_cast<float>(range.scale);
  const int left = node.Emit(OpKind::kMul, ExactOffset(node, a), a.scale / scale);
  const int right = node.Emit(OpKind::kMul, ExactOffset(node, b), b.scale / scale);
  ReturnMoved(node, node.Emit(OpKind::kAdd, {left, right}), range);
}

void ImportQLinearMul(OnnxNode& node) {
  const QuantizedInput a = ReadQuantized(node, 0), b = ReadQuantized(node, 3);
  const QuantizedRange range = StoredRange(node, 6, node.TypeOf(a.id).dtype);
  if (!node.ok()) return;
  const float factor = a.scale * b.scale / static_cast<float>(range.scale);
  const int product = node.Emit(OpKind::kMul, {ExactOffset(node, a), ExactOffset(node, b)});
  ReturnMoved(node, node.Emit(OpKind::kMul, product, factor), range);
}

// Inputs: y_scale, y_zero, then integers, scale and zero point of each part.
void ImportQLinearConcat(OnnxNode& node) {
  const int count = node.input_count();
  if (count < 5 || count % 3 != 2) {
    return node.FailInvalid("has " + std::to_string(count) +
                            " inputs, expected scale and zero point, and three for each part");
  }
  const QuantizedRange range = StoredRange(node, 0, kUInt8);
  std::vector<int> parts;
  for (int i = 2; i < count && node.ok(); i += 3) {
    const QuantizedInput input = ReadQuantized(node, i);
    if (!node.ok()) return;
    const bool same = input.scale == static_cast<float>(range.scale) &&
                      input.zero_point == range.zero_point &&
                      node.TypeOf(input.id).dtype == range.dtype;
    parts.push_back(same ? input.id : Quantized(node, Real(node, input), range));
  }
  if (!node.ok()) return;
  Operator op{OpKind::kConcat, {}};
  op.attributes.axis = node.Axis(node.Int("axis", 0), node.Rank(parts[0]));
  node.Return(op, parts);
}

// Inputs: condition, then integers, scale and zero point of both values, then those of the result.
void ImportQLinearWhere(OnnxNode& node) {
  const QuantizedInput yes = ReadQuantized(node, 1), no = ReadQuantized(node, 4);
  const QuantizedRange range = StoredRange(node, 7, node.TypeOf(yes.id).dtype);
  if (!node.ok()) return;
  const int chosen = node.Emit(OpKind::kWhere, {node.Input(0), Real(node, yes), Real(node, no)});
  node.SetOutput(Quantized(node, chosen, range));
}

// Imports a function of one argument: `op` applied to the dequantized input.
void ReturnFunction(OnnxNode& node, const Operator& op) {
  const QuantizedInput input = ReadQuantized(node, 0);
  const QuantizedRange range = StoredRange(node, 3, node.TypeOf(input.id).dtype);
  if (!node.ok()) return;
  node.SetOutput(Quantized(node, node.Emit(op, {Real(node, input)}), range));
}

void ImportQLinearSigmoid(OnnxNode& node) { ReturnFunction(node, {OpKind::kSigmoid, {}}); }

void ImportQLinearLeakyRelu(OnnxNode& node) {
  Operator op{OpKind::kLeakyRelu, {}};
  op.attributes.alpha = node.Float("alpha", 0.01F);
  ReturnFunction(node, op);
}

// Attribute `opset` selects the Softmax of this opset: until 12 over all dimensions from `axis` on.
void ImportQLinearSoftmax(OnnxNode& node) {
  const std::int64_t meant = node.Int("opset", node.opset());
  Operator op{OpKind::kSoftmax, {}};
  op.attributes.flatten = meant < 13;
  op.attributes.axis = node.Axis(node.Int("axis", meant < 13 ? 1 : -1), node.Rank(node.Input(0)));
  ReturnFunction(node, op);
}

// Transposes data [N,H,W,C] to [N,C,H,W]. ChannelsLast reverses it.
int ChannelsFirst(OnnxNode& node, int id) {
  Shape axes = {0, node.Rank(id) - 1};
  for (std::int64_t i = 1; i + 1 < node.Rank(id); ++i) axes.push_back(i);
  return node.EmitTranspose(id, std::move(axes));
}
int ChannelsLast(OnnxNode& node, int id) {
  Shape axes = {0};
  for (std::int64_t i = 2; i < node.Rank(id); ++i) axes.push_back(i);
  axes.push_back(1);
  return node.EmitTranspose(id, std::move(axes));
}

bool IsChannelsLast(OnnxNode& node) {
  return node.Int("channels_last", 0) != 0 && node.ok() && node.Rank(node.Input(0)) > 2;
}

// Emits sums of the integers, times x_scale / (count * y_scale).
void ImportQLinearGlobalAveragePool(OnnxNode& node) {
  const QuantizedInput input = ReadQuantized(node, 0);
  const QuantizedRange range = StoredRange(node, 3, node.TypeOf(input.id).dtype);
  const bool last = IsChannelsLast(node);
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(input.id).shape;
  // 16-bit integers, so that a sum fits in int32.
  constexpr std::int64_t kMax = std::int64_t{1} << 15;
  Operator sum{OpKind::kReduceSum, {}};
  sum.attributes.keepdims = true;
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < std::ssize(shape); ++i) {
    const bool channel = i == (last ? std::ssize(shape) - 1 : 1);
    if (i == 0 || channel) continue;
    sum.attributes.axes.push_back(i);
    count *= shape[static_cast<std::size_t>(i)];
  }
  if (sum.attributes.axes.empty() || count > kMax * 256) {
    return node.FailUnsupported("averages over " + std::to_string(count) + " elements of " +
                                node.TypeOf(input.id).ToString() +
                                ", expected images of up to 2^23");
  }
  int total = node.Emit(sum, {node.EmitCast(input.id, kInt32)});
  const std::int64_t zeros = count * input.zero_point;
  if (zeros != 0) total = node.Emit(OpKind::kSub, total, static_cast<double>(zeros));
  const float divisor = static_cast<float>(count) * static_cast<float>(range.scale);
  Tensor factor(TensorType{{}, kFloat32});
  factor.As<float>()[0] = input.scale / divisor;
  node.SetOutput(EmitRequantized(node, total, std::move(factor), range));
}

void ImportQLinearAveragePool(OnnxNode& node) {
  const QuantizedInput input = ReadQuantized(node, 0);
  const QuantizedRange range = StoredRange(node, 3, node.TypeOf(input.id).dtype);
  const bool last = IsChannelsLast(node);
  if (!node.ok()) return;
  if (last && node.Rank(input.id) != 4) {
    return node.FailUnsupported("channels_last of " + node.TypeOf(input.id).ToString() +
                                ", expected 4 dimensions (images)");
  }
  int data = Real(node, input);
  if (last) data = ChannelsFirst(node, data);
  int pooled = EmitPool(node, OpKind::kAvgPool2d, data);
  if (last) pooled = ChannelsLast(node, pooled);
  ReturnMoved(node, node.Emit(OpKind::kDiv, pooled, range.scale), range);
}

// Inputs: a, a_scale, a_zero, b, b_scale, b_zero (several per column), c (int32 in units of the
// sums), y_scale, y_zero. Without y_scale the result is float32.
void ImportQGemm(OnnxNode& node) {
  const int weight_given = node.Input(3);
  int data = node.Input(0);
  node.ExpectRank(0, 2);
  node.ExpectRank(3, 2);
  const auto alpha = static_cast<float>(node.Float("alpha", 1));
  const bool transposed = node.Int("transB", 0) != 0;
  if (node.Int("transA", 0) != 0) data = node.EmitTranspose(data, {1, 0});
  CheckZeroPointType(node, 0, 2);
  CheckZeroPointType(node, 3, 5);
  const std::int64_t zero = ZeroPoint(node, 2);
  const int weight = CentredByInput(node, weight_given, 5, transposed ? 0 : 1);
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(weight).shape;
  const std::int64_t columns = shape[transposed ? 0 : 1];
  const auto a_scale = Scales(node, 1, 1), b_scales = Scales(node, 4, columns);
  int sum = IntegerMatmul(node, data, zero, weight, transposed);
  if (node.HasInput(6)) sum = node.Emit(OpKind::kAdd, {sum, node.Input(6)});
  if (!node.ok()) return;
  node.DescribeInput(0, {a_scale, 0, zero});
  Tensor factors(TensorType{b_scales.size() == 1 ? Shape() : Shape{columns}, kFloat32});
  for (std::size_t i = 0; i < b_scales.size(); ++i) {
    factors.As<float>()[i] = alpha * a_scale[0] * b_scales[i];
  }
  if (!node.HasInput(7)) {
    node.IgnoreInput(8);
    const int real = node.EmitCast(sum, kFloat32);
    return node.SetOutput(node.Emit(OpKind::kMul, {real, node.EmitConstant(std::move(factors))}));
  }
  const QuantizedRange range = StoredRange(node, 7, node.TypeOf(data).dtype);
  for (float& factor : factors.As<float>()) factor /= static_cast<float>(range.scale);
  node.SetOutput(EmitRequantized(node, sum, std::move(factors), range));
}

constexpr OnnxHandlerEntry kRuntimeHandlers[] = {
    {"QGemm", &ImportQGemm},
    {"QLinearAdd", &ImportQLinearAdd},
    {"QLinearAveragePool", &ImportQLinearAveragePool},
    {"QLinearConcat", &ImportQLinearConcat},
    {"QLinearGlobalAveragePool", &ImportQLinearGlobalAveragePool},
    {"QLinearLeakyRelu", &ImportQLinearLeakyRelu},
    {"QLinearMul", &ImportQLinearMul},
    {"QLinearSigmoid", &ImportQLinearSigmoid},
    {"QLinearSoftmax", &ImportQLinearSoftmax},
    {"QLinearWhere", &ImportQLinearWhere},
};

}  // namespace

std::span<const OnnxHandlerEntry> RuntimeQLinearHandlers() { return kRuntimeHandlers; }

}  // namespace tilewright
