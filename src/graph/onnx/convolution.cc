// Convolutions and pooling over NCHW images, and over sequences as images of one row.

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

// Numbers of a window's attribute (of both sides, where there are two) for height and width; a
// sequence has them for its only dimension, and height gets `neutral`.
std::vector<std::int64_t> WindowInts(OnnxNode& node, std::string_view name, std::int64_t neutral,
                                     std::size_t sides = 1) {
  const bool sequence = node.Rank(node.Input(0)) == 3;
  const std::size_t count = sequence ? sides : 2 * sides;
  auto values = node.Ints(name, std::vector<std::int64_t>(count, neutral), count);
  for (std::size_t side = sides; sequence && side-- > 0;) {
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(side), neutral);
  }
  return values;
}

void ExpectConvolution(OnnxNode& node) {
  ExpectImage(node, 0);
  if (node.ok()) node.ExpectRank(1, node.Rank(node.Input(0)));
}

void ImportConv(OnnxNode& node) {
  ExpectConvolution(node);
  if (!node.ok() || ImportQuantizedConv(node)) return;
  const int data = AsImage(node, node.Input(0)), weight = AsImage(node, node.Input(1));
  const TensorType type = node.TypeOf(weight);
  const auto kernel = node.HasAttribute("kernel_shape")
                          ? WindowInts(node, "kernel_shape", 1)
                          : std::vector<std::int64_t>{type.shape[2], type.shape[3]};
  if (node.ok() && (kernel[0] != type.shape[2] || kernel[1] != type.shape[3])) {
    return node.FailInvalid("attribute kernel_shape is " + std::to_string(kernel[0]) + "x" +
                            std::to_string(kernel[1]) + ", the weight is " + type.ToString());
  }
  Operator op{OpKind::kConv2d, WindowAttributes(node, node.TypeOf(data), {kernel[0], kernel[1]})};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  node.SetOutput(FromImage(node, AddBias(node, node.Emit(op, {data, weight}), 2)));
}

void ImportConvTranspose(OnnxNode& node) {
  ExpectConvolution(node);
  if (!node.ok() || ImportQuantizedConvTranspose(node)) return;
  const int data = AsImage(node, node.Input(0)), weight = AsImage(node, node.Input(1));
  const int product = node.Emit(ConvTransposeOperator(node, data, weight), {data, weight});
  node.SetOutput(FromImage(node, AddBias(node, product, 2)));
}

void ImportPool(OnnxNode& node, OpKind kind) {
  ExpectImage(node, 0);
  if (!node.HasAttribute("kernel_shape")) node.FailInvalid("attribute kernel_shape is missing");
  if (!node.ok()) return;
  const auto kernel = WindowInts(node, "kernel_shape", 1);
  const int data = AsImage(node, node.Input(0));
  if (!node.ok()) return;
  Operator op{kind, WindowAttributes(node, node.TypeOf(data), {kernel[0], kernel[1]})};
  op.attributes.pool_size = {kernel[0], kernel[1]};
  op.attributes.data_layout = "NCHW";
  op.attributes.ceil_mode = node.Int("ceil_mode", 0) != 0;
  op.attributes.count_include_pad = node.Int("count_include_pad", 0) != 0;
  node.SetOutput(FromImage(node, node.Emit(op, {data})));
}

void ImportMaxPool(OnnxNode& node) {
  if (node.Int("storage_order", 0) != 0) {
    return node.FailUnsupported("storage_order 1 is not supported, expected 0");
  }
  ImportPool(node, OpKind::kMaxPool2d);
}

void ImportAveragePool(OnnxNode& node) { ImportPool(node, OpKind::kAvgPool2d); }

// Over all dimensions behind the channels, however many.
void ImportGlobalPool(OnnxNode& node, OpKind kind) {
  int data = node.Input(0);
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  if (type.shape.size() < 3) {
    return node.FailUnsupported("input 0 is " + type.ToString() +
                                ", expected at least 3 dimensions");
  }
  Operator op{kind, {}};
  op.attributes.data_layout = "NCHW";
  if (type.shape.size() == 4) return node.Return(op, {data});
  const std::int64_t images = type.shape[0], channels = type.shape[1];
  data = node.EmitReshape(data, {images, channels, 1, type.elements() / (images * channels)});
  std::vector<std::int64_t> result(type.shape.size(), 1);
  result[0] = images;
  result[1] = channels;
  node.SetOutput(node.EmitReshape(node.Emit(op, {data}), std::move(result)));
}

void ImportGlobalAveragePool(OnnxNode& node) { ImportGlobalPool(node, OpKind::kGlobalAvgPool2d); }
void ImportGlobalMaxPool(OnnxNode& node) { ImportGlobalPool(node, OpKind::kGlobalMaxPool2d); }

constexpr OnnxHandlerEntry kConvolutionHandlers[] = {
    {"AveragePool", &ImportAveragePool},     {"Conv", &ImportConv},
    {"ConvTranspose", &ImportConvTranspose}, {"GlobalAveragePool", &ImportGlobalAveragePool},
    {"GlobalMaxPool", &ImportGlobalMaxPool}, {"MaxPool", &ImportMaxPool},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxConvolutionHandlers() { return kConvolutionHandlers; }

void ExpectImage(OnnxNode& node, int index) {
  const int id = node.Input(index);
  if (!node.ok() || node.Rank(id) == 3 || node.Rank(id) == 4) return;
  const bool volume = node.Rank(id) == 5;
  node.FailUnsupported("input " + std::to_string(index) + " is " + node.TypeOf(id).ToString() +
                       ", expected 3 (a sequence) or 4 dimensions (images)" +
                       (volume ? "; windows over volumes are not supported" : ""));
}

int AsImage(OnnxNode& node, int id) {
  if (!node.ok() || node.Rank(id) != 3) return id;
  const auto shape = node.TypeOf(id).shape;
  return node.EmitReshape(id, {shape[0], shape[1], 1, shape[2]});
}

int FromImage(OnnxNode& node, int id) {
  if (!node.ok() || node.Rank(node.Input(0)) != 3) return id;
  const auto shape = node.TypeOf(id).shape;
  return node.EmitReshape(id, {shape[0], shape[1], shape[3]});
}

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
  const auto extra = WindowInts(node, "output_padding", 0);
  std::vector<std::int64_t> wanted;
  if (node.HasAttribute("output_shape")) wanted = WindowInts(node, "output_shape", 1);
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
  const auto strides = WindowInts(node, "strides", 1);
  const auto dilations = WindowInts(node, "dilations", 1);
  const auto pads = WindowInts(node, "pads", 0, 2);
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
