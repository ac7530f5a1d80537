// Convolutions, pooling and normalization over NCHW images.

#include <algorithm>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/qdq.h"

namespace tilewright {
namespace {

// The padding that auto_pad asks for along one dimension.
void AutoPad(const std::string& mode, std::int64_t extent, std::int64_t reach, std::int64_t stride,
             std::int64_t& before, std::int64_t& after) {
  const std::int64_t outputs = CeilDiv(extent, std::max<std::int64_t>(stride, 1));
  const std::int64_t total = std::max<std::int64_t>((outputs - 1) * stride + reach - extent, 0);
  before = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
  after = total - before;
}

void ImportConv(OnnxNode& node) {
  node.ExpectRank(0, 4);
  node.ExpectRank(1, 4);
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok() || ImportQuantizedConv(node)) return;
  const TensorType type = node.TypeOf(weight);
  const auto kernel = node.Ints("kernel_shape", {type.shape[2], type.shape[3]}, 2);
  if (kernel[0] != type.shape[2] || kernel[1] != type.shape[3]) {
    return node.FailInvalid("attribute kernel_shape is " + std::to_string(kernel[0]) + "x" +
                            std::to_string(kernel[1]) + ", the weight is " + type.ToString());
  }
  Operator op{OpKind::kConv2d, WindowAttributes(node, node.TypeOf(data), {kernel[0], kernel[1]})};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  node.SetOutput(AddBias(node, node.Emit(op, {data, weight}), 2));
}

void ImportConvTranspose(OnnxNode& node) {
  node.ExpectRank(0, 4);
  node.ExpectRank(1, 4);
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok() || ImportQuantizedConvTranspose(node)) return;
  const int product = node.Emit(ConvTransposeOperator(node, data, weight), {data, weight});
  node.SetOutput(AddBias(node, product, 2));
}

void ImportPool(OnnxNode& node, OpKind kind) {
  node.ExpectRank(0, 4);
  const auto kernel = node.Ints("kernel_shape", {}, 2);
  if (node.ok() && kernel.empty()) node.FailInvalid("attribute kernel_shape is missing");
  if (!node.ok()) return;
  Operator op{kind, WindowAttributes(node, node.InputType(0), {kernel[0], kernel[1]})};
  op.attributes.pool_size = {kernel[0], kernel[1]};
  op.attributes.data_layout = "NCHW";
  op.attributes.ceil_mode = node.Int("ceil_mode", 0) != 0;
  op.attributes.count_include_pad = node.Int("count_include_pad", 0) != 0;
  node.Return(op, {node.Input(0)});
}

void ImportMaxPool(OnnxNode& node) {
  if (node.Int("storage_order", 0) != 0) {
    return node.FailUnsupported("storage_order 1 is not supported, expected 0");
  }
  ImportPool(node, OpKind::kMaxPool2d);
}

void ImportAveragePool(OnnxNode& node) { ImportPool(node, OpKind::kAvgPool2d); }

void ImportGlobalPool(OnnxNode& node, OpKind kind) {
  node.ExpectRank(0, 4);
  Operator op{kind, {}};
  op.attributes.data_layout = "NCHW";
  node.Return(op, {node.Input(0)});
}

void ImportGlobalAveragePool(OnnxNode& node) { ImportGlobalPool(node, OpKind::kGlobalAvgPool2d); }
void ImportGlobalMaxPool(OnnxNode& node) { ImportGlobalPool(node, OpKind::kGlobalMaxPool2d); }

void ImportBatchNormalization(OnnxNode& node) {
  if (node.Int("training_mode", 0) != 0 || node.Int("spatial", 1) != 1) {
    return node.FailUnsupported("expected inference over channels (training_mode 0, spatial 1)");
  }
  Operator op{OpKind::kBatchNorm, {}};
  op.attributes.axis = 1;
  op.attributes.epsilon = node.Float("epsilon", 1e-5F);  // a float in the format
  node.Return(op, {node.Input(0), node.Input(1), node.Input(2), node.Input(3), node.Input(4)});
}

void ImportLrn(OnnxNode& node) {
  Operator op{OpKind::kLrn, {}};
  op.attributes.size = node.Int("size", 0);
  op.attributes.alpha = node.Float("alpha", 1e-4F);
  op.attributes.beta = node.Float("beta", 0.75F);
  op.attributes.bias = node.Float("bias", 1.0F);
  node.Return(op, {node.Input(0)});
}

constexpr OnnxHandlerEntry kConvolutionHandlers[] = {
    {"AveragePool", &ImportAveragePool},
    {"BatchNormalization", &ImportBatchNormalization},
    {"Conv", &ImportConv},
    {"ConvTranspose", &ImportConvTranspose},
    {"GlobalAveragePool", &ImportGlobalAveragePool},
    {"GlobalMaxPool", &ImportGlobalMaxPool},
    {"LRN", &ImportLrn},
    {"MaxPool", &ImportMaxPool},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxConvolutionHandlers() { return kConvolutionHandlers; }

int AddBias(OnnxNode& node, int id, int index) {
  if (!node.HasInput(index)) return id;
  node.ExpectRank(index, 1);
  const int bias = node.Input(index);
  if (!node.ok()) return -1;
  const int shaped = node.EmitReshape(bias, {node.TypeOf(bias).shape[0], 1, 1});
  return node.Emit(OpKind::kAdd, {id, shaped});
}

Operator ConvTransposeOperator(OnnxNode& node, int data, int weight) {
  Operator op{OpKind::kConv2dTranspose, {}};
  if (!node.ok()) return op;
  const TensorType image = node.TypeOf(data), kernel = node.TypeOf(weight);
  const std::string mode = node.String("auto_pad", "NOTSET");
  const auto extra = node.Ints("output_padding", {0, 0}, 2);
  const auto wanted = node.Ints("output_shape", {}, node.HasAttribute("output_shape") ? 2 : 0);
  op.attributes = WindowAttributes(node, image, {kernel.shape[2], kernel.shape[3]});
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "IOHW";
  if (!node.ok()) return op;
  op.attributes.output_padding = {extra[0], extra[1]};
  if (wanted.empty() && !mode.starts_with("SAME")) return op;
  const auto outside = [](std::int64_t value) { return value < 1 || value > 65535; };
  if (std::ranges::any_of(op.attributes.strides, outside) ||
      std::ranges::any_of(op.attributes.dilation, outside)) {
    node.FailInvalid("strides or dilations out of range, expected 1 to 65535");
    return op;
  }
  for (std::size_t i = 0; i < 2; ++i) {  // the pads that give the wanted size
    const std::int64_t stride = op.attributes.strides[i], extent = image.shape[2 + i];
    const std::int64_t reach = (kernel.shape[2 + i] - 1) * op.attributes.dilation[i] + 1;
    const std::int64_t whole = stride * (extent - 1) + extra[i] + reach;
    const std::int64_t total = whole - (wanted.empty() ? extent * stride : wanted[i]);
    if (total < 0) {
      node.FailUnsupported("output_shape asks for " + std::to_string(whole - total) +
                           " elements, expected at most " + std::to_string(whole) +
                           ", which is all that the window reaches");
      return op;
    }
    const std::int64_t before = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    op.attributes.padding[i] = before;
    op.attributes.padding[2 + i] = total - before;
  }
  return op;
}

OpAttributes WindowAttributes(OnnxNode& node, const TensorType& data,
                              std::array<std::int64_t, 2> kernel) {
  OpAttributes attributes;
  const auto strides = node.Ints("strides", {1, 1}, 2);
  const auto dilations = node.Ints("dilations", {1, 1}, 2);
  const auto pads = node.Ints("pads", {0, 0, 0, 0}, 4);
  const std::string mode = node.String("auto_pad", "NOTSET");
  attributes.groups = node.Int("group", 1);
  if (!node.ok()) return attributes;
  attributes.strides = {strides[0], strides[1]};
  attributes.dilation = {dilations[0], dilations[1]};
  attributes.padding = {pads[0], pads[1], pads[2], pads[3]};
  if (mode == "NOTSET") return attributes;
  auto& p = attributes.padding;
  if (mode == "VALID") {
    p = {0, 0, 0, 0};
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    const bool sane = strides[0] > 0 && strides[1] > 0 && dilations[0] > 0 && dilations[1] > 0 &&
                      std::max({strides[0], strides[1], dilations[0], dilations[1]}) < 65536 &&
                      kernel[0] > 0 && kernel[1] > 0;
    if (!sane) {
      node.FailInvalid("strides, dilations or kernel_shape out of range, expected 1 to 65535");
      return attributes;
    }
    AutoPad(mode, data.shape[2], dilations[0] * (kernel[0] - 1) + 1, strides[0], p[0], p[2]);
    AutoPad(mode, data.shape[3], dilations[1] * (kernel[1] - 1) + 1, strides[1], p[1], p[3]);
  } else {
    node.FailInvalid("attribute auto_pad is " + mode +
                     ", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  return attributes;
}

}  // namespace tilewright
