// Windows over volumes [N,C,D,H,W], as windows over images. A convolution is the sum of image
// convolutions, one for each depth step of its window. A pooling first pools the images of all
// depths, then along the depth (its divisor is a product of counts along each dimension).

#include <algorithm>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kDeepestWindow = 64;  // an operator for each depth step

// Returns the number of results of a window along one dimension of `extent`; 0 after an error.
std::int64_t Outputs(OnnxNode& node, std::int64_t extent, const WindowDimension& part) {
  const bool sane = part.kernel >= 1 && part.kernel <= kDeepestWindow && part.stride >= 1 &&
                    part.stride < 65536 && part.dilation >= 1 && part.dilation < 65536 &&
                    part.before >= 0 && part.before < 65536 && part.after >= 0 &&
                    part.after < 65536;
  const std::int64_t reach = sane ? (part.kernel - 1) * part.dilation + 1 : 0;
  const std::int64_t room = sane ? extent + part.before + part.after - reach : -1;
  if (room >= 0) return room / part.stride + 1;
  node.FailUnsupported("the window does not fit in " + std::to_string(extent) +
                       " elements of depth, or is deeper than " + std::to_string(kDeepestWindow));
  return 0;
}

// Emits a slice of every `step`th element of dimension `axis`.
int Sliced(OnnxNode& node, int id, std::size_t axis, std::int64_t begin, std::int64_t end,
           std::int64_t step) {
  if (!node.ok()) return -1;
  Operator slice = WholeSlice(node.TypeOf(id).shape);
  slice.attributes.begin[axis] = begin;
  slice.attributes.end[axis] = end;
  slice.attributes.steps[axis] = step;
  return node.Emit(slice, {id});
}

// Emits the volumes as images stacked along the depth: [N,D,C,H,W], with padding around the depth.
// If the padding value is not zero, also pads height and width and removes this padding from `op`.
int ImagesOf(OnnxNode& node, int data, const std::vector<WindowDimension>& window, double padding,
             Operator& op) {
  const int images = node.EmitTranspose(data, {0, 2, 1, 3, 4});
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_value = padding;
  pad.attributes.pad_width.assign(10, 0);
  const auto surround = [&](std::size_t axis, const WindowDimension& part) {
    pad.attributes.pad_width[2 * axis] = part.before;
    pad.attributes.pad_width[2 * axis + 1] = part.after;
  };
  surround(1, window[0]);
  if (padding != 0) {
    surround(3, window[1]);
    surround(4, window[2]);
    op.attributes.padding = {0, 0, 0, 0};
  }
  const auto& widths = pad.attributes.pad_width;
  if (std::ranges::all_of(widths, [](std::int64_t width) { return width == 0; })) return images;
  return node.Emit(pad, {images});
}

}  // namespace

int VolumeSums(OnnxNode& node, int data, int weight, double padding, std::optional<DataType> sums) {
  if (!node.ok()) return -1;
  const Shape v = node.TypeOf(data).shape, w = node.TypeOf(weight).shape;
  if (w.size() != 5) {
    node.FailInvalid("the weight is " + node.TypeOf(weight).ToString() +
                     ", expected 5 dimensions, as the data have");
    return -1;
  }
  const auto window = ReadWindow(node, {v[2], v[3], v[4]}, {w[2], w[3], w[4]});
  Operator op{OpKind::kConv2d, {}};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  op.attributes.groups = node.Int("group", 1);
  op.attributes.dtype = sums;
  if (!node.ok()) return -1;
  const WindowDimension& depth = window[0];
  const std::int64_t outputs = Outputs(node, v[2], depth);
  SetWindow(op.attributes, 0, window[1]);
  SetWindow(op.attributes, 1, window[2]);
  const int images = ImagesOf(node, data, window, padding, op);
  const Shape padded = node.TypeOf(images).shape;
  int sum = -1;
  for (std::int64_t tap = 0; node.ok() && tap < depth.kernel; ++tap) {
    const std::int64_t begin = tap * depth.dilation;
    const std::int64_t end = begin + (outputs - 1) * depth.stride + 1;
    const int read = node.EmitReshape(Sliced(node, images, 1, begin, end, depth.stride),
                                      {v[0] * outputs, v[1], padded[3], padded[4]});
    const int part =
        node.EmitReshape(Sliced(node, weight, 2, tap, tap + 1, 1), {w[0], w[1], w[3], w[4]});
    const int product = node.Emit(op, {read, part});
    sum = sum < 0 ? product : node.Emit(OpKind::kAdd, {sum, product});
  }
  return sum;
}

int EmitVolumeConvolution(OnnxNode& node) {
  node.ExpectRank(1, 5);
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok()) return -1;
  if (node.FindQuantized(data) != nullptr || node.FindQuantized(weight) != nullptr) {
    node.Note("Conv '" + node.OutputName() +
              "' is computed in float32: windows over volumes have no integer form");
  }
  return FromImage(node, AddBias(node, VolumeSums(node, data, weight, 0), 2));
}

// One transposed convolution of all images computes the contributions of all depth steps of the
// window as separate channels. These are added at their depth positions.
int EmitVolumeConvTranspose(OnnxNode& node) {
  node.ExpectRank(1, 5);
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok()) return -1;
  const Shape v = node.TypeOf(data).shape, w = node.TypeOf(weight).shape;
  Shape extra;
  const auto window = ReadTransposedWindow(node, {v[2], v[3], v[4]}, {w[2], w[3], w[4]}, extra);
  const std::int64_t groups = node.Int("group", 1);
  if (!node.ok()) return -1;
  const WindowDimension& depth = window[0];
  const auto outside = [](std::int64_t value) { return value < 0 || value > 65535; };
  if (groups < 1 || depth.stride < 1 || outside(depth.stride) || depth.dilation < 1 ||
      outside(depth.dilation) || outside(depth.before) || outside(depth.after)) {
    node.FailInvalid(
        "group, strides, dilations or pads out of range, expected groups, strides and "
        "dilations from 1 on and pads from 0 on, all at most 65535");
    return -1;
  }
  const std::int64_t outputs = depth.stride * (v[2] - 1) + (depth.kernel - 1) * depth.dilation + 1 +
                               extra[0] - depth.before - depth.after;
  if (depth.kernel > kDeepestWindow || outputs < 1 || outputs > kMaxPicked) {
    node.FailUnsupported("a window of " + std::to_string(depth.kernel) + " along " +
                         std::to_string(v[2]) + " elements of depth gives " +
                         std::to_string(outputs) + " of them; expected a window of at most " +
                         std::to_string(kDeepestWindow) + " and at least one element");
    return -1;
  }
  Operator op{OpKind::kConv2dTranspose, {}};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "IOHW";
  op.attributes.groups = groups;
  for (std::size_t i = 0; i < 2; ++i) {
    SetWindow(op.attributes, i, window[i + 1]);
    op.attributes.output_padding[i] = extra[i + 1];
  }
  const int images =
      node.EmitReshape(node.EmitTranspose(data, {0, 2, 1, 3, 4}), {v[0] * v[2], v[1], v[3], v[4]});
  const int taps = node.EmitReshape(weight, {w[0], w[1] * w[2], w[3], w[4]});
  const int products = node.Emit(op, {images, taps});
  if (!node.ok()) return -1;
  const Shape p = node.TypeOf(products).shape;
  const std::int64_t channels = p[1] / w[2];
  const int each = node.EmitReshape(products, {v[0], v[2], channels, w[2], p[2] * p[3]});
  Operator pad{OpKind::kPad, {}};  // padding images of zeros contribute nothing
  pad.attributes.pad_width = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  int sum = -1;
  for (std::int64_t tap = 0; tap < w[2] && node.ok(); ++tap) {
    Shape places;
    for (std::int64_t i = 0; i < outputs; ++i) {
      const std::int64_t at = i + depth.before - tap * depth.dilation;
      const bool hit = at >= 0 && at % depth.stride == 0 && at / depth.stride < v[2];
      places.push_back(hit ? at / depth.stride : v[2]);
    }
    const int part = node.Emit(pad, {Sliced(node, each, 3, tap, tap + 1, 1)});
    const int moved = EmitPick(node, part, 1, places);
    sum = sum < 0 ? moved : node.Emit(OpKind::kAdd, {sum, moved});
  }
  const int joined = node.EmitReshape(sum, {v[0] * outputs, channels, p[2], p[3]});
  return FromImage(node, AddBias(node, joined, 2));
}

int EmitVolumePool(OnnxNode& node, Operator op, int data) {
  const Shape kernel = node.Ints("kernel_shape", {1, 1, 1}, 3);
  if (!node.ok()) return -1;
  const Shape v = node.TypeOf(data).shape;
  const auto window = ReadWindow(node, {v[2], v[3], v[4]}, kernel);
  if (!node.ok()) return -1;
  SetWindow(op.attributes, 0, window[1]);
  SetWindow(op.attributes, 1, window[2]);
  op.attributes.pool_size = {kernel[1], kernel[2]};
  const int planes = node.Emit(op, {node.EmitReshape(data, {v[0], v[1] * v[2], v[3], v[4]})});
  if (!node.ok()) return -1;
  const Shape plane = node.TypeOf(planes).shape;
  SetWindow(op.attributes, 0, window[0]);
  SetWindow(op.attributes, 1, WindowDimension());
  op.attributes.pool_size = {kernel[0], 1};
  const int columns =
      node.Emit(op, {node.EmitReshape(planes, {v[0], v[1], v[2], plane[2] * plane[3]})});
  if (!node.ok()) return -1;
  return node.EmitReshape(columns, {v[0], v[1], node.TypeOf(columns).shape[2], plane[2], plane[3]});
}

}  // namespace tilewright
