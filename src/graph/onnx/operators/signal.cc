// Sums over windows that are not convolutions, tables of signals, small Fourier transforms as
// matrix products, and other tables and products.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kMaxTaps = 1024;        // Col2Im: an operator or two for each tap
constexpr std::int64_t kLongestSignal = 2048;  // Fourier transform: the matrix has the square of it
constexpr std::int64_t kLongestFrame = 4096;   // short-time Fourier transform

// Emits the sums of a window along dimension `axis` with zero padding.
int WindowSums(OnnxNode& node, int id, std::size_t axis, const WindowDimension& part,
               bool ceil_mode) {
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(id).shape;
  const std::int64_t reach = (part.kernel - 1) * part.dilation + 1;
  const std::int64_t room = shape[axis] + part.before + part.after - reach;
  const bool sane = part.kernel >= 1 && part.kernel <= 65535 && part.stride >= 1 &&
                    part.dilation >= 1 && part.before >= 0 && part.after >= 0 && room >= 0;
  if (!sane) {
    node.FailInvalid("the window does not fit in dimension " + std::to_string(axis) + " of " +
                     node.TypeOf(id).ToString());
    return -1;
  }
  std::int64_t more = 0;
  if (ceil_mode && room % part.stride != 0) {
    more = part.stride - room % part.stride;
    // Excludes a window that begins after the data and its leading padding.
    const std::int64_t last = room / part.stride + 1;
    if (last * part.stride >= shape[axis] + part.before) more = 0;
  }
  if (part.before + part.after + more > 0) {
    Operator pad{OpKind::kPad, {}};
    pad.attributes.pad_width.assign(2 * shape.size(), 0);
    pad.attributes.pad_width[2 * axis] = part.before;
    pad.attributes.pad_width[2 * axis + 1] = part.after + more;
    id = node.Emit(pad, {id});
    shape[axis] += part.before + part.after + more;
  }
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  Operator pool{OpKind::kAvgPool2d, {}};
  pool.attributes.data_layout = "NCHW";
  pool.attributes.pool_size = {part.kernel, 1};
  pool.attributes.strides = {part.stride, 1};
  pool.attributes.dilation = {part.dilation, 1};
  const int means = node.Emit(pool, {node.EmitReshape(id, {1, outer, shape[axis], inner})});
  if (!node.ok()) return -1;
  shape[axis] = node.TypeOf(means).shape[2];
  const int sums = node.Emit(OpKind::kMul, means, static_cast<double>(part.kernel));
  return node.EmitReshape(sums, shape);
}

// Emits |x|^p, and the root of sums of such powers.
int Power(OnnxNode& node, int id, double p) {
  if (p == 2) return node.Emit(OpKind::kMul, {id, id});
  const int magnitude = node.Emit(OpKind::kAbs, {id});
  return p == 1 ? magnitude : node.Emit(OpKind::kPow, magnitude, p);
}
int Root(OnnxNode& node, int id, double p) {
  if (p == 1) return id;
  return p == 2 ? node.Emit(OpKind::kSqrt, {id}) : node.Emit(OpKind::kPow, id, 1 / p);
}

// Returns the exponent, which is a float in opset 1.
double Exponent(OnnxNode& node) {
  const double p = node.opset() < 2 ? node.Float("p", 2) : static_cast<double>(node.Int("p", 2));
  if (!(p >= 1)) node.FailInvalid("attribute p is " + std::to_string(p) + ", expected at least 1");
  return p;
}

void ImportLpPool(OnnxNode& node) {
  const int data = node.Input(0);
  const double p = Exponent(node);
  if (!node.HasAttribute("kernel_shape")) node.FailInvalid("attribute kernel_shape is missing");
  const bool ceil_mode = node.Int("ceil_mode", 0) != 0;
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  if (type.shape.size() < 3) {
    return node.FailInvalid("input 0 is " + type.ToString() + ", expected at least 3 dimensions");
  }
  const Shape extents(type.shape.begin() + 2, type.shape.end());
  const auto window = ReadWindow(node, extents, node.Ints("kernel_shape", {}, extents.size()));
  int sums = Power(node, data, p);
  for (std::size_t i = 0; i < window.size(); ++i) {
    sums = WindowSums(node, sums, i + 2, window[i], ceil_mode);
  }
  node.SetOutput(Root(node, sums, p));
}

void ImportGlobalLpPool(OnnxNode& node) {
  const int data = node.Input(0);
  const double p = Exponent(node);
  Operator sum{OpKind::kReduceSum, {}};
  sum.attributes.keepdims = true;
  for (std::int64_t i = 2; i < node.Rank(data); ++i) sum.attributes.axes.push_back(i);
  if (node.ok() && sum.attributes.axes.empty()) {
    return node.FailInvalid("input 0 is " + node.TypeOf(data).ToString() +
                            ", expected at least 3 dimensions");
  }
  node.SetOutput(Root(node, node.Emit(sum, {Power(node, data, p)}), p));
}

// Returns for one tap of Col2Im along dimension `axis` the source block of each image element.
// Index `blocks` is a zero after the blocks.
Shape TapPositions(const WindowDimension& part, std::int64_t tap, std::int64_t extent,
                   std::int64_t blocks) {
  Shape positions;
  for (std::int64_t i = 0; i < extent; ++i) {
    const std::int64_t at = i + part.before - tap * part.dilation;
    const bool hit = at >= 0 && at % part.stride == 0 && at / part.stride < blocks;
    positions.push_back(hit ? at / part.stride : blocks);
  }
  return positions;
}

// Inputs: columns [N, C * taps, blocks], image and block sizes: every column is added to its
// position in the image.
void ImportCol2Im(OnnxNode& node) {
  const int data = node.Input(0);
  const Shape image = node.KnownInts(1), block = node.KnownInts(2);
  node.ExpectRank(0, 3);
  if (!node.ok()) return;
  const std::size_t rank = image.size();
  std::int64_t taps = 1, places = 1;
  bool sane = block.size() == rank && rank >= 1 && rank <= 6;
  for (std::size_t i = 0; sane && i < rank; ++i) {
    sane = image[i] >= 1 && image[i] <= kMaxPicked && block[i] >= 1 && block[i] <= kMaxTaps &&
           (taps *= block[i]) <= kMaxTaps;
  }
  const Shape ones(rank, 1);
  const auto strides = node.Ints("strides", ones, rank);
  const auto dilations = node.Ints("dilations", ones, rank);
  const auto pads = node.Ints("pads", Shape(2 * rank, 0), 2 * rank);
  const Shape shape = node.TypeOf(data).shape;
  std::vector<WindowDimension> window;
  Shape counts;
  for (std::size_t i = 0; sane && node.ok() && i < rank; ++i) {
    window.push_back({block[i], strides[i], dilations[i], pads[i], pads[rank + i]});
    sane = strides[i] >= 1 && dilations[i] >= 1 && pads[i] >= 0 && pads[rank + i] >= 0;
    if (!sane) break;
    const std::int64_t room =
        image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1;
    counts.push_back(room < 0 ? 0 : room / strides[i] + 1);
    places *= counts.back();
  }
  if (!node.ok()) return;
  if (!sane || shape[1] % taps != 0 || places != shape[2]) {
    return node.FailInvalid("columns " + node.TypeOf(data).ToString() +
                            " do not fit the image, its blocks (at most 1024 elements), strides, "
                            "dilations and pads");
  }
  const std::int64_t channels = shape[1] / taps;
  const int split = node.EmitReshape(data, {shape[0], channels, taps, places});
  Shape cut = {shape[0], channels};
  cut.insert(cut.end(), counts.begin(), counts.end());
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_width.assign(2 * cut.size(), 0);
  for (std::size_t i = 2; i < cut.size(); ++i) pad.attributes.pad_width[2 * i + 1] = 1;
  int sum = -1;
  for (std::int64_t tap = 0; tap < taps && node.ok(); ++tap) {
    Operator slice = WholeSlice({shape[0], channels, taps, places});
    slice.attributes.begin[2] = tap;
    slice.attributes.end[2] = tap + 1;
    int part = node.Emit(pad, {node.EmitReshape(node.Emit(slice, {split}), cut)});
    std::int64_t rest = tap;
    for (std::size_t i = rank; i-- > 0;) {
      part = EmitPick(node, part, static_cast<std::int64_t>(i) + 2,
                      TapPositions(window[i], rest % block[i], image[i], counts[i]));
      rest /= block[i];
    }
    sum = sum < 0 ? part : node.Emit(OpKind::kAdd, {sum, part});
  }
  node.SetOutput(sum);
}

// c0 - c1 cos(2 pi i / n) + c2 cos(4 pi i / n)
void ReturnWindow(OnnxNode& node, double c0, double c1, double c2) {
  const double size = node.KnownScalar(0);
  const bool periodic = node.Int("periodic", 1) != 0;
  auto dtype = DataTypeOfOnnx(static_cast<std::int32_t>(node.Int("output_datatype", 1)));
  if (!dtype.ok()) return node.Fail(dtype.status());
  if (!node.ok()) return;
  if (!(size >= 1 && size <= static_cast<double>(kMaxPicked))) {
    return node.FailInvalid("a window of " + std::to_string(size) +
                            " elements, expected 1 to 2^22");
  }
  Tensor window(TensorType{{static_cast<std::int64_t>(size)}, *dtype});
  const double turns = periodic ? size : std::max(size - 1, 1.0);
  for (std::int64_t i = 0; i < window.elements(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / turns;
    window.Set(i, c0 - c1 * std::cos(angle) + c2 * std::cos(2 * angle));
  }
  node.SetOutput(node.EmitConstant(std::move(window)));
}

void ImportHannWindow(OnnxNode& node) { ReturnWindow(node, 0.5, 0.5, 0); }
void ImportHammingWindow(OnnxNode& node) { ReturnWindow(node, 25.0 / 46, 21.0 / 46, 0); }
void ImportBlackmanWindow(OnnxNode& node) { ReturnWindow(node, 0.42, 0.5, 0.08); }

// Returns a matrix with rows for each frequency k (its real part, then its imaginary one) and
// columns for each element n and its parts: exp(-+ 2 pi i k n / size) as real numbers. `half`: only
// the first size / 2 + 1 frequencies, which determine a real transform.
Tensor FourierMatrix(std::int64_t from, std::int64_t parts, std::int64_t to, bool real_result,
                     double sign, double scale, std::int64_t size, DataType dtype) {
  const std::int64_t made = real_result ? 1 : 2;
  Tensor matrix(TensorType{{to * made, from * parts}, dtype});
  for (std::int64_t k = 0; k < to; ++k) {
    for (std::int64_t n = 0; n < from; ++n) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(k * n % size) /
                           static_cast<double>(size);
      const bool twice = real_result && n > 0 && 2 * n < size;
      const double factor = scale * (twice ? 2 : 1);
      const double c = factor * std::cos(angle), s = factor * std::sin(angle);
      const std::int64_t row = k * made * from * parts + n * parts;
      matrix.Set(row, c);
      if (parts == 2) matrix.Set(row + 1, -s);
      if (made == 1) continue;
      matrix.Set(row + from * parts, s);
      if (parts == 2) matrix.Set(row + from * parts + 1, c);
    }
  }
  return matrix;
}

// Inputs: data […,1 or 2], length, axis: a product with the matrix of the transform.
void ImportDft(OnnxNode& node) {
  int data = node.Input(0);
  const bool inverse = node.Int("inverse", 0) != 0, onesided = node.Int("onesided", 0) != 0;
  const std::int64_t rank = node.Rank(data);
  std::int64_t axis = node.opset() < 20 ? node.Int("axis", 1) : -2;
  if (node.opset() >= 20 && node.HasInput(2)) {
    axis = static_cast<std::int64_t>(node.KnownScalar(2));
  }
  axis = node.Axis(axis, rank);
  if (!node.ok()) return;
  Shape shape = node.TypeOf(data).shape;
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t parts = shape.back();
  const bool real_result = inverse && onesided;
  std::int64_t size = real_result ? 2 * (shape[at] - 1) : shape[at];
  if (node.HasInput(1)) size = static_cast<std::int64_t>(node.KnownScalar(1));
  const DataType dtype = node.TypeOf(data).dtype;
  if (axis == rank - 1 || parts > 2 || !dtype.is_float()) {
    return node.FailInvalid("input 0 is " + node.TypeOf(data).ToString() +
                            ", expected floats whose last dimension is 1 or 2, not the axis");
  }
  if (size < 1 || size > kLongestSignal || shape[at] > kLongestSignal) {
    return node.FailUnsupported("a transform of " + std::to_string(size) +
                                " elements, expected at most " + std::to_string(kLongestSignal));
  }
  const std::int64_t used = std::min(shape[at], real_result ? size / 2 + 1 : size);
  const std::int64_t to = onesided && !inverse ? size / 2 + 1 : size;
  if (used < shape[at]) {
    Operator slice = WholeSlice(shape);
    slice.attributes.end[at] = used;
    data = node.Emit(slice, {data});
    shape[at] = used;
  }
  Tensor matrix = FourierMatrix(used, parts, to, real_result, inverse ? 1 : -1,
                                inverse ? 1 / static_cast<double>(size) : 1, size, dtype);
  // Moves the axis next to the parts: […, n, parts] as rows of n * parts.
  Shape axes;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != axis && i != rank - 1) axes.push_back(i);
  }
  Shape made;
  for (std::int64_t i : axes) made.push_back(shape[static_cast<std::size_t>(i)]);
  axes.insert(axes.end(), {axis, rank - 1});
  const int moved = node.EmitTranspose(data, axes);
  const std::int64_t width = used * parts;
  const int rows = node.EmitReshape(moved, {node.TypeOf(data).elements() / width, width});
  const int product = EmitDense(node, rows, node.EmitConstant(std::move(matrix)), true);
  made.insert(made.end(), {to, real_result ? 1 : 2});
  Shape back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  }
  node.SetOutput(node.EmitTranspose(node.EmitReshape(product, made), std::move(back)));
}

// Multiplies the columns of the matrix of a Fourier transform by a constant window.
void MultiplyColumns(Tensor& matrix, const Tensor& window, std::int64_t parts) {
  const std::int64_t columns = matrix.shape()[1];
  for (std::int64_t i = 0; i < matrix.elements(); ++i) {
    matrix.Set(i, matrix.At(i) * window.At(i % columns / parts));
  }
}

// Inputs: signal [B,L], [B,L,1] or [B,L,2], frame_step, window, frame_length: frames of the signal,
// multiplied by the window, as rows that are multiplied by the matrix of the transform:
// [B,frames,bins,2].
void ImportStft(OnnxNode& node) {
  const int signal = node.Input(0);
  const TensorType type = node.TypeOf(signal);
  const bool onesided = node.Int("onesided", 1) != 0, windowed = node.HasInput(2);
  const double step = node.KnownScalar(1);
  if (!node.ok()) return;
  const std::size_t rank = type.shape.size();
  const std::int64_t parts = rank == 3 ? type.shape[2] : 1;
  if (rank < 2 || rank > 3 || (parts != 1 && parts != 2) || !type.dtype.is_float()) {
    return node.FailInvalid("input 0 is " + type.ToString() +
                            ", expected floats [B,L], [B,L,1] or [B,L,2]");
  }
  const TensorType window = windowed ? node.InputType(2) : TensorType();
  if (windowed && node.ok() && (window.shape.size() != 1 || window.dtype != type.dtype)) {
    return node.FailInvalid("the window (input 2) is " + window.ToString() +
                            ", expected one dimension of " + DataTypeName(type.dtype));
  }
  if (!windowed && !node.HasInput(3)) {
    return node.FailInvalid("has neither a window (input 2) nor a frame_length (input 3)");
  }
  const double given =
      node.HasInput(3) ? node.KnownScalar(3) : static_cast<double>(window.elements());
  if (!node.ok()) return;
  const std::int64_t length = type.shape[1];
  const double longest = static_cast<double>(std::min(length, kLongestFrame));
  if (!(given >= 1 && given <= longest && step >= 1 && step <= static_cast<double>(kMaxPicked))) {
    return node.FailUnsupported(
        "frames of " + std::to_string(given) + " elements, one every " + std::to_string(step) +
        ", of a signal of " + std::to_string(length) + "; expected 1 to " +
        std::to_string(std::min(length, kLongestFrame)) + " elements, and a step from 1 on");
  }
  const auto size = static_cast<std::int64_t>(given), hop = static_cast<std::int64_t>(step);
  if (windowed && window.elements() != size) {
    return node.FailInvalid("the window (input 2) has " + std::to_string(window.elements()) +
                            " elements, the frames have " + std::to_string(size));
  }
  const std::int64_t frames = (length - size) / hop + 1;
  if (frames * size > kMaxPicked) {
    return node.FailUnsupported(std::to_string(frames) + " frames of " + std::to_string(size) +
                                " elements, expected at most " + std::to_string(kMaxPicked) +
                                " elements in total");
  }
  Shape positions;
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    for (std::int64_t i = 0; i < size; ++i) positions.push_back(frame * hop + i);
  }
  const std::int64_t batch = type.shape[0], bins = onesided ? size / 2 + 1 : size;
  int rows = node.EmitReshape(EmitPick(node, signal, 1, positions), {batch * frames, size * parts});
  Tensor matrix = FourierMatrix(size, parts, bins, false, -1, 1, size, type.dtype);
  const Tensor* known = windowed ? node.Known(2) : nullptr;
  if (known != nullptr) {
    MultiplyColumns(matrix, *known, parts);
  } else if (windowed) {
    const int split = node.EmitReshape(rows, {batch * frames, size, parts});
    const int factors = node.EmitReshape(node.Input(2), {size, 1});
    rows =
        node.EmitReshape(node.Emit(OpKind::kMul, {split, factors}), {batch * frames, size * parts});
  }
  const int product = EmitDense(node, rows, node.EmitConstant(std::move(matrix)), true);
  node.SetOutput(node.EmitReshape(product, {batch, frames, bins, 2}));
}

// theta [N,2,3] or [N,3,4] times the corners of a grid from -1 to 1: [N,…,2 or 3].
void ImportAffineGrid(OnnxNode& node) {
  const int theta = node.Input(0);
  const Shape size = node.KnownInts(1);
  const bool corners = node.Int("align_corners", 0) != 0;
  if (!node.ok()) return;
  const std::int64_t dims = std::ssize(size) - 2;
  const TensorType type = node.TypeOf(theta);
  if ((dims != 2 && dims != 3) || type.shape != Shape{size[0], dims, dims + 1}) {
    return node.FailInvalid("theta is " + type.ToString() + ", the size has " +
                            std::to_string(size.size()) +
                            " numbers; expected [N,2,3] and 4 or [N,3,4] and 5");
  }
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < dims; ++i) {
    const std::int64_t extent = size[static_cast<std::size_t>(i + 2)];
    if (extent < 1 || extent > kMaxPicked || (count *= extent) > kMaxPicked) {
      return node.FailUnsupported("the grid has more than 2^22 points, or none");
    }
  }
  Tensor grid(TensorType{{count, dims + 1}, type.dtype});  // x, y, (z,) 1
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::int64_t d = 0; d < dims; ++d) {
      const std::int64_t extent = size[static_cast<std::size_t>(dims + 1 - d)];
      const auto at = static_cast<double>(rest % extent), n = static_cast<double>(extent);
      rest /= extent;
      const double position =
          corners ? (extent == 1 ? -1 : 2 * at / (n - 1) - 1) : (2 * at + 1) / n - 1;
      grid.Set(i * (dims + 1) + d, position);
    }
    grid.Set(i * (dims + 1) + dims, 1);
  }
  // [N * dims, dims + 1] times the grid: [N, dims, points].
  const int rows = node.EmitReshape(theta, {size[0] * dims, dims + 1});
  const int product = EmitDense(node, rows, node.EmitConstant(std::move(grid)), true);
  const int moved =
      node.EmitTranspose(node.EmitReshape(product, {size[0], dims, count}), {0, 2, 1});
  Shape result = size;
  result.erase(result.begin() + 1);
  result.push_back(dims);
  node.SetOutput(node.EmitReshape(moved, std::move(result)));
}

constexpr OnnxHandlerEntry kSignalHandlers[] = {
    {"AffineGrid", &ImportAffineGrid},
    {"BlackmanWindow", &ImportBlackmanWindow},
    {"Col2Im", &ImportCol2Im},
    {"DFT", &ImportDft},
    {"GlobalLpPool", &ImportGlobalLpPool},
    {"HammingWindow", &ImportHammingWindow},
    {"HannWindow", &ImportHannWindow},
    {"LpPool", &ImportLpPool},
    {"STFT", &ImportStft},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxSignalHandlers() { return kSignalHandlers; }

}  // namespace tilewright
