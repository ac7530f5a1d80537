// Products of quantized values.

#include <algorithm>
#include <cmath>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/quantized/qdq.h"
#include "src/graph/onnx/operators/quantized/quantized_value.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Data and weight of a product as integers; the weight is centred.
struct Operands {
  QuantizedValue data, uncentred_weight;
  int weight = -1;
  std::vector<float> scales;  // scales of the sums: one, or one per output channel
};

// channel: dimension of the weight for output channels; scales along another dimension have no
// integer form. taps: number of products in one sum.
std::optional<Operands> QuantizedOperands(OnnxNode& node, std::int64_t channel, std::int64_t taps) {
  const int data_id = node.Input(0), weight_id = node.Input(1);
  if (!node.ok()) return std::nullopt;
  auto data = QuantizedValueOf(node, data_id);
  const auto weight = QuantizedValueOf(node, weight_id);
  if (!data && !weight) return std::nullopt;
  const std::string head = node.op_type() + " '" + node.OutputName() + "' is computed in float32: ";
  if (!data || !weight) {
    node.Note(head + "its " + (data ? "weight " : "data ") +
              Quoted(node, data ? weight_id : data_id) +
              " is not quantized; export it with QuantizeLinear and DequantizeLinear on both");
    return std::nullopt;
  }
  const int data_bits = node.TypeOf(data->id).dtype.bits;
  const int weight_bits = node.TypeOf(weight->id).dtype.bits;
  const bool fits = data_bits == 8 && weight_bits <= 16 &&
                    taps <= (std::int64_t{1} << (31 - data_bits - weight_bits)) * 2;
  if (!fits) {
    node.Note(head + "sums of products of " + std::to_string(data_bits) + " and " +
              std::to_string(weight_bits) + " bits do not fit in int32; quantize to 8 bits");
    return std::nullopt;
  }
  const bool along = IsPerTensor(*weight) || weight->quantization_params.axis == channel;
  if (!IsPerTensor(*data) || !along) {
    node.Note(head +
              "scales differ along a dimension that is summed over; quantize the weight per "
              "tensor or per output channel (axis " +
              std::to_string(channel) + ")");
    return std::nullopt;
  }
  Operands operands{
      *data, *weight, Centred(node, weight->id, weight->quantization_params.zero_point), {}};
  for (float scale : weight->quantization_params.scales) {
    operands.scales.push_back(data->quantization_params.scales[0] * scale);
  }
  return operands;
}

// Emits the bias (input 2) as int32 in units of the sums; -1 if it has no such form.
int IntegerBias(OnnxNode& node, const std::vector<float>& scales) {
  const int id = node.Input(2);
  const auto near = [](float a, float b) { return std::abs(a - b) <= 1e-5F * std::abs(b); };
  if (const auto quantized = QuantizedValueOf(node, id)) {
    const bool numbers = node.TypeOf(quantized->id).dtype == kInt32 &&
                         quantized->quantization_params.zero_point == 0;
    const bool same =
        numbers && std::ranges::equal(quantized->quantization_params.scales, scales, near);
    return same ? quantized->id : -1;
  }
  const Tensor* known = node.Known(2);
  if (known == nullptr || !known->dtype().is_float()) return -1;
  Tensor bias(TensorType{known->shape(), kInt32});
  for (std::int64_t i = 0; i < bias.elements(); ++i) {
    const auto channel = scales.size() == 1 ? 0 : static_cast<std::size_t>(i);
    if (channel >= scales.size()) return -1;
    bias.Set(i, known->At(i) / static_cast<double>(scales[channel]));
  }
  return node.EmitConstant(std::move(bias));
}

// Emits a float bias (input 2) in units of the sums as float32, without rounding to integers.
// Returns -1 if there is no float bias, or if integers are required (Requantize::kByIntegers).
int FractionalBias(OnnxNode& node, const std::vector<float>& scales) {
  const Tensor* known = node.Known(2);
  if (known == nullptr || !known->dtype().is_float() || QuantizedValueOf(node, node.Input(2)) ||
      node.requantize() == Requantize::kByIntegers) {
    return -1;
  }
  Tensor bias(TensorType{known->shape(), kFloat32});
  for (std::int64_t i = 0; i < bias.elements(); ++i) {
    const auto channel = scales.size() == 1 ? 0 : static_cast<std::size_t>(i);
    if (channel >= scales.size()) return -1;
    bias.Set(i, known->At(i) / static_cast<double>(scales[channel]));
  }
  return node.EmitConstant(std::move(bias));
}

// Finishes a product: the output represents the sums and the bias, if present. channel: dimension
// of the sums for output channels. Float readers get the bias of the file, because in units of the
// sums it may be rounded.
void ReturnSums(OnnxNode& node, int sum, std::int64_t channel, const std::vector<float>& scales,
                bool has_bias) {
  if (!node.ok()) return;
  const auto along = [&](int id) { return AlongAxis(node, id, channel, node.Rank(sum)); };
  QuantizedValue quantized{sum, {scales, channel, 0}};
  const int factors = node.EmitConstant(FactorsOf(node, quantized, 1));
  int real = node.Emit(OpKind::kMul, {node.EmitCast(sum, kFloat32), factors});
  if (has_bias) {
    real = node.Emit(OpKind::kAdd, {real, along(node.Input(2))});
    if (const int fraction = FractionalBias(node, scales); fraction >= 0) {
      quantized.id = node.Emit(OpKind::kAdd, {node.EmitCast(sum, kFloat32), along(fraction)});
    } else {
      const int bias = IntegerBias(node, scales);
      quantized.id = bias < 0 ? -1 : node.Emit(OpKind::kAdd, {sum, along(bias)});
    }
  }
  if (node.ok() && quantized.id >= 0) node.SetQuantized(real, quantized);
  node.SetOutput(real);
}

}  // namespace

bool ImportQuantizedConv(OnnxNode& node) {
  const TensorType weight = node.InputType(1);
  const auto operands = QuantizedOperands(node, 0, weight.elements() / weight.shape[0]);
  if (!operands) return !node.ok();
  const QuantizedValue& data = operands->data;
  const int sum =
      IntegerConvolution(node, data.id, data.quantization_params.zero_point, operands->weight);
  ReturnSums(node, FromImage(node, sum), 1, operands->scales, node.HasInput(2));
  return true;
}

bool ImportQuantizedConvTranspose(OnnxNode& node) {
  const Shape weight = node.InputType(1).shape;
  const std::int64_t taps = node.InputType(1).elements() / weight[1];
  const auto operands = QuantizedOperands(node, 1, taps);
  if (!operands) return !node.ok();
  const bool grouped = node.Int("group", 1) != 1 && operands->scales.size() > 1;
  if (grouped) {
    node.Note("ConvTranspose '" + node.OutputName() +
              "' is computed in float32: scales per channel of several groups have no integer "
              "form; quantize the weight per tensor");
    return false;
  }
  const QuantizedValue& data = operands->data;
  const int centred = Centred(node, AsImage(node, data.id), data.quantization_params.zero_point);
  const int sum = IntegerConvTranspose(node, centred, operands->weight);
  ReturnSums(node, FromImage(node, sum), 1, operands->scales, node.HasInput(2));
  return true;
}

bool ImportQuantizedGemm(OnnxNode& node) {
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok()) return true;
  if (node.Rank(data) != 2 || node.Rank(weight) != 2) return false;
  const bool transposed = node.Int("transB", 0) != 0;
  const bool plain = node.Int("transA", 0) == 0 && node.Float("alpha", 1) == 1;
  const double beta = node.Float("beta", 1);
  const bool has_bias = node.HasInput(2) && beta != 0;
  const Shape shape = node.TypeOf(weight).shape;
  const std::int64_t columns = shape[transposed ? 0 : 1];
  bool simple = plain;
  if (has_bias) {
    const TensorType bias = node.InputType(2);
    simple &= beta == 1 && bias.elements() == columns &&
              (bias.shape.size() == 1 || (bias.shape.size() == 2 && bias.shape[0] == 1));
  }
  if (!simple) {
    if (node.FindQuantized(data) != nullptr || node.FindQuantized(weight) != nullptr) {
      node.Note("Gemm '" + node.OutputName() +
                "' is computed in float32: its integer form needs alpha 1, beta 1, transA 0 and a "
                "bias per column; export it as a plain linear layer");
    }
    return false;
  }
  const auto operands = QuantizedOperands(node, transposed ? 0 : 1, shape[transposed ? 1 : 0]);
  if (!operands) return !node.ok();
  const QuantizedValue& quantized = operands->data;
  const int sum = IntegerMatmul(node, quantized.id, quantized.quantization_params.zero_point,
                                operands->weight, transposed);
  ReturnSums(node, sum, 1, operands->scales, has_bias);
  return true;
}

bool ImportQuantizedMatMul(OnnxNode& node) {
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok()) return true;
  if (node.Rank(data) < 2 || node.Rank(weight) < 2) return false;
  const Shape shape = node.TypeOf(weight).shape;
  const auto operands = QuantizedOperands(node, std::ssize(shape) - 1, shape[shape.size() - 2]);
  if (!operands) return !node.ok();
  const QuantizedValue& quantized = operands->data;
  const QuantizedValue& matrices = operands->uncentred_weight;
  const std::int64_t zero = quantized.quantization_params.zero_point;
  const bool plain = shape.size() == 2 && node.TypeOf(operands->weight).dtype == kInt8;
  const bool by_bytes = !plain && node.TypeOf(matrices.id).dtype.bits == 8;
  const int sum = by_bytes ? ProductOfBytes(node, quantized.id, {zero, -1}, matrices.id,
                                            {matrices.quantization_params.zero_point, -1})
                           : IntegerMatmul(node, quantized.id, zero, operands->weight);
  if (node.ok()) ReturnSums(node, sum, node.Rank(sum) - 1, operands->scales, false);
  return true;
}

}  // namespace tilewright
