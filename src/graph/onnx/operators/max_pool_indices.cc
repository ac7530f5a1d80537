// Second output of MaxPool: the index of the largest element of each window. For each element of
// the window, from the last to the first, the data shifted by it is compared with the result of the
// pooling. If they are equal, the index is set to that element.

#include "src/graph/onnx/operators/max_pool_indices.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kLargestWindow = 1024;               // three operators for each element
constexpr std::int64_t kMaxPlaces = std::int64_t{1} << 26;  // total of all constants

// Windows of one dimension: their starts and the elements of the data that they can read.
struct PoolSide {
  WindowDimension part;
  std::int64_t extent = 0, outputs = 0;

  std::int64_t Read(std::int64_t output, std::int64_t tap) const {
    return output * part.stride + tap * part.dilation - part.before;
  }
  bool Inside(std::int64_t output, std::int64_t tap) const {
    const std::int64_t read = Read(output, tap);
    return read >= 0 && read < extent;
  }
  // Returns how many elements must follow the data so that every window can be read.
  std::int64_t After() const {
    return std::max<std::int64_t>(Read(outputs - 1, part.kernel - 1) - extent + 1, 0);
  }
};

// Returns height and width of the windows over an image.
std::array<PoolSide, 2> SidesOf(OnnxNode& node, const Shape& image, const Shape& result) {
  const bool sequence = node.Rank(node.Input(0)) == 3;
  Shape extents = sequence ? Shape{image[3]} : Shape{image[2], image[3]};
  const Shape kernel = node.Ints("kernel_shape", Shape(extents.size(), 1), extents.size());
  auto window = ReadWindow(node, extents, kernel);
  if (!node.ok()) return {};
  if (sequence) window.insert(window.begin(), WindowDimension());
  std::array<PoolSide, 2> sides;
  for (std::size_t i = 0; i < 2; ++i) sides[i] = {window[i], image[2 + i], result[2 + i]};
  return sides;
}

// Returns for each window the index of element (y, x) in an image, and whether the element exists.
std::pair<Tensor, Tensor> PlacesOfTap(const PoolSide& height, const PoolSide& width, std::int64_t y,
                                      std::int64_t x, bool columns_first) {
  Tensor places(TensorType{{height.outputs, width.outputs}, kInt64});
  Tensor inside(TensorType{places.shape(), kBool});
  for (std::int64_t i = 0; i < places.elements(); ++i) {
    const std::int64_t row = i / width.outputs, column = i % width.outputs;
    const std::int64_t h = height.Read(row, y), w = width.Read(column, x);
    const std::int64_t place = columns_first ? w * height.extent + h : h * width.extent + w;
    const bool there = height.Inside(row, y) && width.Inside(column, x);
    places.As<std::int64_t>()[static_cast<std::size_t>(i)] = there ? place : 0;
    inside.Set(i, there ? 1 : 0);
  }
  return {std::move(places), std::move(inside)};
}

bool AllOf(const Tensor& flags) {
  for (std::int64_t i = 0; i < flags.elements(); ++i) {
    if (flags.At(i) == 0) return false;
  }
  return true;
}

}  // namespace

int EmitMaxPoolIndices(OnnxNode& node, int data, int pooled) {
  const bool columns_first = node.Int("storage_order", 0) != 0;
  data = AsImage(node, data);
  pooled = AsImage(node, pooled);
  if (!node.ok()) return -1;
  const Shape image = node.TypeOf(data).shape, result = node.TypeOf(pooled).shape;
  if (image.size() != 4) {
    node.FailUnsupported("the indices (output 1) are not supported for volumes");
    return -1;
  }
  const auto [height, width] = SidesOf(node, image, result);
  if (!node.ok()) return -1;
  if (height.part.kernel * width.part.kernel > kLargestWindow) {
    node.FailUnsupported("the indices (output 1) of windows of more than " +
                         std::to_string(kLargestWindow) + " elements are not supported");
    return -1;
  }
  const double numbers = static_cast<double>(height.part.kernel * width.part.kernel) *
                             static_cast<double>(height.outputs) *
                             static_cast<double>(width.outputs) +
                         static_cast<double>(image[0]) * static_cast<double>(image[1]);
  if (numbers > static_cast<double>(kMaxPlaces)) {
    node.FailUnsupported("the indices (output 1) need more than " + std::to_string(kMaxPlaces) +
                         " numbers");
    return -1;
  }
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_width = {
      0, 0, 0, 0, height.part.before, height.After(), width.part.before, width.After()};
  const int padded = node.Emit(pad, {data});
  int found = -1;
  for (std::int64_t tap = height.part.kernel * width.part.kernel; node.ok() && tap-- > 0;) {
    const std::int64_t y = tap / width.part.kernel, x = tap % width.part.kernel;
    Operator shifted = WholeSlice(node.TypeOf(padded).shape);
    const auto cut = [&](std::size_t axis, const PoolSide& side, std::int64_t at) {
      shifted.attributes.begin[axis] = at * side.part.dilation;
      shifted.attributes.end[axis] =
          at * side.part.dilation + (side.outputs - 1) * side.part.stride + 1;
      shifted.attributes.steps[axis] = side.part.stride;
    };
    cut(2, height, y);
    cut(3, width, x);
    auto [places, inside] = PlacesOfTap(height, width, y, x, columns_first);
    int equal = node.Emit(OpKind::kEqual, {node.Emit(shifted, {padded}), pooled});
    if (!AllOf(inside)) {
      const int there = node.EmitConstant(std::move(inside));
      equal = node.Emit(OpKind::kWhere, {there, equal, node.EmitScalar(kBool, 0)});
    }
    const int own = node.EmitConstant(std::move(places));
    if (found < 0) found = node.EmitFilled(TensorType{{1, 1, 1, 1}, kInt64}, 0);
    found = node.Emit(OpKind::kWhere, {equal, own, found});
  }
  Tensor begins(TensorType{{image[0], image[1], 1, 1}, kInt64});
  for (std::int64_t i = 0; i < begins.elements(); ++i) {
    begins.As<std::int64_t>()[static_cast<std::size_t>(i)] = i * image[2] * image[3];
  }
  return FromImage(node, node.Emit(OpKind::kAdd, {found, node.EmitConstant(std::move(begins))}));
}

}  // namespace tilewright
