// Convolutions and pooling over NCHW images, and over sequences as images of one row. See volume.cc
// for volumes.

#include <algorithm>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/max_pool_indices.h"
#include "src/graph/onnx/operators/quantized/qdq.h"

namespace tilewright {
namespace {

// Sets the padding that auto_pad requires along one dimension.
void AutoPad(OnnxNode& node, const std::string& mode, std::int64_t extent, WindowDimension& part) {
  const auto outside = [](std::int64_t value) { return value < 1 || value > 65535; };
  if (outside(part.stride) || outside(part.dilation) || part.kernel < 1) {
    return node.FailInvalid("strides, dilations or kernel_shape out of range, expected 1 to 65535");
  }
  const std::int64_t outputs = CeilDiv(extent, part.stride);
  const std::int64_t reach = part.dilation * (part.kernel - 1) + 1;
  const std::int64_t total =
      std::max<std::int64_t>((outputs - 1) * part.stride + reach - extent, 0);
  part.before = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
  part.after = total - part.before;
}

// Returns for example "2x3".
std::string Join(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (std::int64_t extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

// Sets strides, pads and dilations for an image (input 0 or its image form).
void SetImageWindow(OnnxNode& node, const TensorType& data, std::array<std::int64_t, 2> kernel,
                    OpAttributes& attributes) {
  const bool sequence = node.Rank(node.Input(0)) == 3;
  auto window = sequence ? ReadWindow(node, {data.shape[3]}, {kernel[1]})
                         : ReadWindow(node, {data.shape[2], data.shape[3]}, {kernel[0], kernel[1]});
  if (!node.ok()) return;
  if (sequence) window.insert(window.begin(), WindowDimension());
  for (std::size_t i = 0; i < 2; ++i) SetWindow(attributes, i, window[i]);
}

// Reads a window attribute (with `sides` values per dimension) for height and width. A sequence has
// values only for its width; height gets `neutral`.
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
  if (node.Rank(node.Input(0)) == 5) return node.SetOutput(EmitVolumeConvolution(node));
  ExpectConvolution(node);
  if (!node.ok() || ImportQuantizedConv(node)) return;
  node.SetOutput(EmitConv(node));
}

void ImportConvTranspose(OnnxNode& node) {
  if (node.Rank(node.Input(0)) == 5) return node.SetOutput(EmitVolumeConvTranspose(node));
  ExpectConvolution(node);
  if (!node.ok() || ImportQuantizedConvTranspose(node)) return;
  const int data = AsImage(node, node.Input(0)), weight = AsImage(node, node.Input(1));
  const int product = node.Emit(ConvTransposeOperator(node, data, weight), {data, weight});
  node.SetOutput(FromImage(node, AddBias(node, product, 2)));
}

void ImportMaxPool(OnnxNode& node) {
  const int data = node.Input(0), pooled = EmitPool(node, OpKind::kMaxPool2d, data);
  node.IgnoreAttributes({"storage_order"});
  if (node.HasOutput(1)) node.SetOutput(EmitMaxPoolIndices(node, data, pooled), 1);
  node.SetOutput(pooled);
}

void ImportAveragePool(OnnxNode& node) {
  node.SetOutput(EmitPool(node, OpKind::kAvgPool2d, node.Input(0)));
}

// Pools over all dimensions after the channels, of any number.
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
                       (volume ? "; its windows over volumes are not supported" : ""));
}

int AsImage(OnnxNode& node, int id) {
  if (!node.ok() || node.Rank(id) != 3) return id;
  const auto shape = node.TypeOf(id).shape;
  return node.EmitReshape(id, {shape[0], shape[1], 1, shape[2]});
}

int FromImage(OnnxNode& node, int id) {
  if (!node.ok() || node.Rank(node.Input(0)) == 4) return id;
  const auto shape = node.TypeOf(id).shape;
  if (node.Rank(node.Input(0)) == 3) {
    return node.EmitReshape(id, {shape[0], shape[1], shape[3]});
  }
  const std::int64_t volumes = node.TypeOf(node.Input(0)).shape[0];
  const int images =
      node.EmitReshape(id, {volumes, shape[0] / volumes, shape[1], shape[2], shape[3]});
  return node.EmitTranspose(images, {0, 2, 1, 3, 4});
}

int EmitPool(OnnxNode& node, OpKind kind, int data) {
  if (!node.HasAttribute("kernel_shape")) node.FailInvalid("attribute kernel_shape is missing");
  Operator op{kind, {}};
  op.attributes.data_layout = "NCHW";
  op.attributes.ceil_mode = node.Int("ceil_mode", 0) != 0;
  op.attributes.count_include_pad = node.Int("count_include_pad", 0) != 0;
  if (node.Rank(data) == 5) return EmitVolumePool(node, std::move(op), data);
  ExpectImage(node, 0);
  if (!node.ok()) return -1;
  const auto kernel = WindowInts(node, "kernel_shape", 1);
  data = AsImage(node, data);
  if (!node.ok()) return -1;
  SetImageWindow(node, node.TypeOf(data), {kernel[0], kernel[1]}, op.attributes);
  op.attributes.pool_size = {kernel[0], kernel[1]};
  return FromImage(node, node.Emit(op, {data}));
}

int EmitConv(OnnxNode& node) {
  if (node.Rank(node.Input(0)) == 5) return EmitVolumeConvolution(node);
  ExpectConvolution(node);
  const int data = AsImage(node, node.Input(0)), weight = AsImage(node, node.Input(1));
  if (!node.ok()) return -1;
  const auto kernel = node.TypeOf(weight).shape;
  Operator op{OpKind::kConv2d, WindowAttributes(node, node.TypeOf(data), {kernel[2], kernel[3]})};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  return FromImage(node, AddBias(node, node.Emit(op, {data, weight}), 2));
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
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "IOHW";
  op.attributes.groups = node.Int("group", 1);
  const bool sequence = node.Rank(node.Input(0)) == 3;
  const std::ptrdiff_t first = sequence ? 3 : 2;
  std::vector<std::int64_t> extra;
  auto window = ReadTransposedWindow(node, {image.shape.begin() + first, image.shape.end()},
                                     {kernel.shape.begin() + first, kernel.shape.end()}, extra);
  if (!node.ok()) return op;
  if (sequence) {
    window.insert(window.begin(), WindowDimension());
    extra.insert(extra.begin(), 0);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    SetWindow(op.attributes, i, window[i]);
    op.attributes.output_padding[i] = extra[i];
  }
  return op;
}

std::vector<WindowDimension> ReadTransposedWindow(OnnxNode& node,
                                                  const std::vector<std::int64_t>& extents,
                                                  const std::vector<std::int64_t>& kernel,
                                                  std::vector<std::int64_t>& extra) {
  const std::size_t count = extents.size();
  const std::string mode = node.String("auto_pad", "NOTSET");
  extra = node.Ints("output_padding", std::vector<std::int64_t>(count, 0), count);
  std::vector<std::int64_t> wanted;
  if (node.HasAttribute("output_shape")) wanted = node.Ints("output_shape", {}, count);
  auto window = ReadWindow(node, extents, kernel);
  if (!node.ok() || (wanted.empty() && !mode.starts_with("SAME"))) return window;
  const auto outside = [](std::int64_t value) { return value < 1 || value > 65535; };
  for (std::size_t i = 0; i < count; ++i) {  // pads that give the requested size
    WindowDimension& part = window[i];
    if (outside(part.stride) || outside(part.dilation)) {
      node.FailInvalid("strides or dilations out of range, expected 1 to 65535");
      return {};
    }
    const std::int64_t reach = (part.kernel - 1) * part.dilation + 1;
    const std::int64_t whole = part.stride * (extents[i] - 1) + extra[i] + reach;
    const std::int64_t size = wanted.empty() ? extents[i] * part.stride : wanted[i];
    if (size < 1) {
      node.FailInvalid("attribute output_shape has " + std::to_string(size) +
                       ", expected at least 1");
      return {};
    }
    const std::int64_t total = std::max<std::int64_t>(whole - size, 0);
    part.before = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    part.after = total - part.before;
    // Elements that the window does not reach. auto_pad alone never requests more elements than it
    // reaches.
    if (!wanted.empty()) extra[i] += std::max<std::int64_t>(size - whole, 0);
  }
  return window;
}

std::vector<WindowDimension> ReadWindow(OnnxNode& node, const std::vector<std::int64_t>& extents,
                                        const std::vector<std::int64_t>& kernel) {
  const std::size_t count = extents.size();
  const std::vector<std::int64_t> ones(count, 1), zeros(2 * count, 0);
  const auto strides = node.Ints("strides", ones, count);
  const auto dilations = node.Ints("dilations", ones, count);
  const auto pads = node.Ints("pads", zeros, 2 * count);
  const auto given = node.Ints("kernel_shape", kernel, count);
  const std::string mode = node.String("auto_pad", "NOTSET");
  if (!node.ok()) return {};
  if (given != kernel) {
    node.FailInvalid("attribute kernel_shape is " + Join(given) + ", the weight has " +
                     Join(kernel));
  }
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (mode != "NOTSET" && mode != "VALID" && !same) {
    node.FailInvalid("attribute auto_pad is " + mode +
                     ", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  std::vector<WindowDimension> window;
  for (std::size_t i = 0; i < count; ++i) {
    WindowDimension part{kernel[i], strides[i], dilations[i], pads[i], pads[count + i]};
    if (mode != "NOTSET") part.before = part.after = 0;
    if (same) AutoPad(node, mode, extents[i], part);
    window.push_back(part);
  }
  return window;
}

void SetWindow(OpAttributes& attributes, std::size_t dimension, const WindowDimension& part) {
  attributes.strides[dimension] = part.stride;
  attributes.dilation[dimension] = part.dilation;
  attributes.padding[dimension] = part.before;
  attributes.padding[2 + dimension] = part.after;
}

OpAttributes WindowAttributes(OnnxNode& node, const TensorType& data,
                              std::array<std::int64_t, 2> kernel) {
  OpAttributes attributes;
  SetImageWindow(node, data, kernel, attributes);
  attributes.groups = node.Int("group", 1);
  return attributes;
}

}  // namespace tilewright
