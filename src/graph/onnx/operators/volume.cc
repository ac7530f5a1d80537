// Windows over volumes [N,C,D,H,W], as windows over images: a convolution is the sum of one over
// the slices that each step in depth of its window reads, and a pool is one over the images of all
// depths and then one along the depth (what it divides by is a product of counts along each
// dimension).

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kDeepestWindow = 64;  // an operator for each step in depth

// Elements that a window along one dimension of `extent` makes; 0 with an error.
std::int64_t Outputs(OnnxNode& node, std::int64_t extent, const WindowPart& part) {
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

// A slice of every `step`th element of dimension `axis`.
int Sliced(OnnxNode& node, int id, std::size_t axis, std::int64_t begin, std::int64_t end,
           std::int64_t step) {
  if (!node.ok()) return -1;
  Operator slice = WholeSlice(node.TypeOf(id).shape);
  slice.attributes.begin[axis] = begin;
  slice.attributes.end[axis] = end;
  slice.attributes.steps[axis] = step;
  return node.Emit(slice, {id});
}

// The volumes as images that follow each other in depth: [N,D,C,H,W], with zeros around the depth.
int ImagesOf(OnnxNode& node, int data, const WindowPart& depth) {
  const int images = node.EmitTranspose(data, {0, 2, 1, 3, 4});
  if (depth.before == 0 && depth.after == 0) return images;
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_width = {0, 0, depth.before, depth.after, 0, 0, 0, 0, 0, 0};
  return node.Emit(pad, {images});
}

}  // namespace

int EmitVolumeConvolution(OnnxNode& node) {
  node.ExpectRank(1, 5);
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok()) return -1;
  if (node.Form(data) != nullptr || node.Form(weight) != nullptr) {
    node.Note("Conv '" + node.OutputName() +
              "' is computed in float32: windows over volumes have no integer form");
  }
  const Shape v = node.TypeOf(data).shape, w = node.TypeOf(weight).shape;
  const auto window = ReadWindow(node, {v[2], v[3], v[4]}, {w[2], w[3], w[4]});
  Operator op{OpKind::kConv2d, {}};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  op.attributes.groups = node.Int("group", 1);
  if (!node.ok()) return -1;
  const WindowPart& depth = window[0];
  const std::int64_t outputs = Outputs(node, v[2], depth);
  SetWindow(op.attributes, 0, window[1]);
  SetWindow(op.attributes, 1, window[2]);
  const int images = ImagesOf(node, data, depth);
  int sum = -1;
  for (std::int64_t tap = 0; node.ok() && tap < depth.kernel; ++tap) {
    const std::int64_t begin = tap * depth.dilation;
    const std::int64_t end = begin + (outputs - 1) * depth.stride + 1;
    const int read = node.EmitReshape(Sliced(node, images, 1, begin, end, depth.stride),
                                      {v[0] * outputs, v[1], v[3], v[4]});
    const int part =
        node.EmitReshape(Sliced(node, weight, 2, tap, tap + 1, 1), {w[0], w[1], w[3], w[4]});
    const int product = node.Emit(op, {read, part});
    sum = sum < 0 ? product : node.Emit(OpKind::kAdd, {sum, product});
  }
  sum = AddBias(node, sum, 2);
  if (!node.ok()) return -1;
  const Shape made = node.TypeOf(sum).shape;
  const int result = node.EmitReshape(sum, {v[0], outputs, made[1], made[2], made[3]});
  return node.EmitTranspose(result, {0, 2, 1, 3, 4});
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
  SetWindow(op.attributes, 1, WindowPart());
  op.attributes.pool_size = {kernel[0], 1};
  const int columns =
      node.Emit(op, {node.EmitReshape(planes, {v[0], v[1], v[2], plane[2] * plane[3]})});
  if (!node.ok()) return -1;
  return node.EmitReshape(columns,
                          {v[0], v[1], node.TypeOf(columns).shape[2], plane[2], plane[3]});
}

}  // namespace tilewright
