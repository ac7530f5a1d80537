// RoiAlign whose number of samples per bin depends on the size of the region (sampling_ratio 0). A
// sample is a sum of elements times weights along height times weights along width. Therefore a bin
// is such a sum with the total weights of its rows of samples and of its columns of samples. These
// totals have closed forms.
//
// Along one dimension of `size` elements a bin has n samples at y_k = first + (k + 1/2) * step. Let
// C(p) be the number of samples below p and P(p) the sum of their positions; both depend only on p:
//
// C(p) = ceil((p - first) / step - 1/2), clamped to 0 … n,  P(p) = C(p) * first + C(p)^2 / 2 * step
//
// A sample between elements h - 1 and h gives element h the weight 1 - h + y; one between h and h +
// 1 gives it 1 + h - y. The totals are sums of counts and positions of the samples in between. A
// sample at most one element before the first element or after the last one counts as if it were on
// that element; a sample further outside has weight 0.

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/roi_align.h"

namespace tilewright {
namespace {
namespace adaptive_regions {

using Shape = std::vector<std::int64_t>;

// Numbers of samples below positions and sums of their positions: [R,bins,positions], float64.
struct Below {
  int count = -1, sum = -1;
};

// Samples of each bin along one dimension.
struct Samples {
  int first = -1, step = -1;  // first sample of a bin [R,bins,1], distance of samples [R,1,1]
  int count = -1;             // [R,1,1]
};

Samples SamplesOf(OnnxNode& node, int begin, int end, const RoiSampling& how) {
  const double offset = how.half_pixel ? 0.5 : 0;
  const auto scaled = [&](int id) {
    return node.Emit(OpKind::kSub, node.Emit(OpKind::kMul, id, how.scale), offset);
  };
  begin = scaled(begin);
  int length = node.Emit(OpKind::kSub, {scaled(end), begin});
  if (!how.half_pixel) length = node.Emit(OpKind::kMax, length, 1);
  const auto bins = static_cast<double>(how.bins);
  const int size = node.Emit(OpKind::kDiv, length, bins);  // size of a bin, in float32
  const int samples = node.Emit(OpKind::kMax, node.Emit(OpKind::kCeil, {size}), 0);
  if (!node.ok()) return {};
  const std::int64_t regions = node.TypeOf(begin).shape[0];
  const auto wide = [&](int id) {
    return node.EmitReshape(node.EmitCast(id, kFloat64), {regions, 1, 1});
  };
  Tensor numbers(TensorType{{1, how.bins, 1}, kFloat64});
  for (std::int64_t i = 0; i < how.bins; ++i) numbers.Set(i, static_cast<double>(i));
  Samples made;
  made.count = wide(samples);
  const int each = wide(size);
  const int moved = node.Emit(OpKind::kMul, {each, node.EmitConstant(std::move(numbers))});
  made.first = node.Emit(OpKind::kAdd, {wide(begin), moved});
  made.step = node.Emit(OpKind::kDiv, {each, node.Emit(OpKind::kMax, made.count, 1)});
  return made;
}

// Emits counts and sums below the positions 0 - 1, 0, …, size - 1, and, as the last one, up to and
// including `size`.
Below BelowPlaces(OnnxNode& node, const Samples& samples, std::int64_t size) {
  Tensor places(TensorType{{1, 1, size + 2}, kFloat64});
  for (std::int64_t i = 0; i < size + 2; ++i) places.Set(i, static_cast<double>(i - 1));
  // Samples on the borders, one element outside, count as inside, also after rounding errors.
  constexpr double kSlack = 1e-9;
  places.Set(0, -1 - kSlack);
  places.Set(size + 1, static_cast<double>(size) * (1 + kSlack));
  const int distance =
      node.Emit(OpKind::kSub, {node.EmitConstant(std::move(places)), samples.first});
  // A region of length zero has no sample, for any step.
  const int step = node.Emit(OpKind::kMax, samples.step, 1e-30);
  const int steps = node.Emit(OpKind::kSub, node.Emit(OpKind::kDiv, {distance, step}), 0.5);
  const int above = node.Emit(OpKind::kMax, node.Emit(OpKind::kCeil, {steps}), 0);
  Below below;
  below.count = node.Emit(OpKind::kMin, {above, samples.count});
  const int square = node.Emit(OpKind::kMul, {below.count, below.count});
  const int half = node.Emit(OpKind::kMul, square, 0.5);
  below.sum = node.Emit(OpKind::kAdd, {node.Emit(OpKind::kMul, {below.count, samples.first}),
                                       node.Emit(OpKind::kMul, {half, samples.step})});
  return below;
}

// Emits elements `first` … `last` of the last dimension minus their predecessors.
int Differences(OnnxNode& node, int id, std::int64_t first, std::int64_t last) {
  if (!node.ok()) return -1;
  Operator upper = WholeSlice(node.TypeOf(id).shape), lower = upper;
  upper.attributes.begin.back() = first;
  upper.attributes.end.back() = last + 1;
  lower.attributes.begin.back() = first - 1;
  lower.attributes.end.back() = last;
  return node.Emit(OpKind::kSub, {node.Emit(upper, {id}), node.Emit(lower, {id})});
}

// Emits a constant vector along the last dimension.
int AlongLast(OnnxNode& node, std::int64_t size, double (*value)(std::int64_t, std::int64_t)) {
  Tensor numbers(TensorType{{1, 1, size}, kFloat64});
  for (std::int64_t i = 0; i < size; ++i) numbers.Set(i, value(i, size));
  return node.EmitConstant(std::move(numbers));
}

// Emits the weights of the elements of one dimension in the mean of each bin: float32
// [R,bins,size].
int WeightsAlong(OnnxNode& node, int begin, int end, std::int64_t size, const RoiSampling& how) {
  const Samples samples = SamplesOf(node, begin, end, how);
  const Below below = BelowPlaces(node, samples, size);
  // Between h - 1 and h, and between h and h + 1; position i + 1 belongs to element i.
  const int count_in_front = Differences(node, below.count, 1, size);
  const int sum_in_front = Differences(node, below.sum, 1, size);
  const int count_behind = Differences(node, below.count, 2, size + 1);
  const int sum_behind = Differences(node, below.sum, 2, size + 1);
  // Samples before the first element and after the last one have weight 1.
  const int one_less = AlongLast(node, size, [](std::int64_t h, std::int64_t) {
    return h == 0 ? 1.0 : 1.0 - static_cast<double>(h);
  });
  const int by_place_in_front =
      AlongLast(node, size, [](std::int64_t h, std::int64_t) { return h == 0 ? 0.0 : 1.0; });
  const int one_more = AlongLast(node, size, [](std::int64_t h, std::int64_t whole) {
    return h == whole - 1 ? 1.0 : 1.0 + static_cast<double>(h);
  });
  const int by_place_behind = AlongLast(
      node, size, [](std::int64_t h, std::int64_t whole) { return h == whole - 1 ? 0.0 : 1.0; });
  const int in_front =
      node.Emit(OpKind::kAdd, {node.Emit(OpKind::kMul, {count_in_front, one_less}),
                               node.Emit(OpKind::kMul, {sum_in_front, by_place_in_front})});
  const int behind =
      node.Emit(OpKind::kSub, {node.Emit(OpKind::kMul, {count_behind, one_more}),
                               node.Emit(OpKind::kMul, {sum_behind, by_place_behind})});
  const int sum = node.Emit(OpKind::kAdd, {in_front, behind});
  const int mean = node.Emit(OpKind::kDiv, {sum, node.Emit(OpKind::kMax, samples.count, 1)});
  return node.EmitCast(mean, kFloat32);
}

// Expands weights [R,bins,H] to the rows of all images [R,bins,N*H], zero for images other than the
// region's own.
int OfOwnImage(OnnxNode& node, int weights, int which, std::int64_t images) {
  if (images == 1 || !node.ok()) return weights;
  const Shape shape = node.TypeOf(weights).shape;
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_max = static_cast<double>(images - 1);
  const int image =
      node.EmitReshape(node.EmitCast(node.Emit(clip, {which}), kInt32), {shape[0], 1, 1, 1});
  const int number = node.EmitReshape(EmitPositions(node, kInt32, images), {1, 1, images, 1});
  const int own = node.Emit(OpKind::kEqual, {image, number});
  const int spread =
      node.Emit(OpKind::kWhere, {own, node.EmitReshape(weights, {shape[0], shape[1], 1, shape[2]}),
                                 node.EmitScalar(kFloat32, 0)});
  return node.EmitReshape(spread, {shape[0], shape[1], images * shape[2]});
}

}  // namespace adaptive_regions
}  // namespace

int EmitAdaptiveRoiAlign(OnnxNode& node, int images, int corners, int which,
                         const RoiSampling& rows, const RoiSampling& columns) {
  using namespace adaptive_regions;  // NOLINT(google-build-using-namespace)
  if (!node.ok()) return -1;
  const Shape s = node.TypeOf(images).shape;
  const std::int64_t regions = node.TypeOf(corners).shape[0];
  constexpr std::int64_t kLongest = 65'536;
  if (s[0] > kLongest || s[2] > kLongest || s[3] > kLongest) {
    node.FailUnsupported("input 0 is " + node.TypeOf(images).ToString() +
                         ", expected at most 65536 images of at most 65536 rows and columns");
    return -1;
  }
  const auto along = [&](std::int64_t first, std::int64_t size, const RoiSampling& how) {
    const int begin = EmitColumn(node, corners, first);
    const int end = EmitColumn(node, corners, first + 2);
    return WeightsAlong(node, begin, end, size, how);
  };
  const int y = OfOwnImage(node, along(1, s[2], rows), which, s[0]);
  const int x = along(0, s[3], columns);
  // Rows of bins first: [R*bins, N*H] times [N*H, C*W].
  const int lines =
      node.EmitReshape(node.EmitTranspose(images, {0, 2, 1, 3}), {s[0] * s[2], s[1] * s[3]});
  const int of_rows = EmitDense(node, node.EmitReshape(y, {regions * rows.bins, s[0] * s[2]}),
                                node.EmitCast(lines, kFloat32), false);
  // Then columns for each of these rows: [bins, W] times [C, W] transposed.
  Operator repeat{OpKind::kBroadcastTo, {}};
  repeat.attributes.new_shape = {regions, rows.bins, columns.bins, s[3]};
  const int every = node.Emit(repeat, {node.EmitReshape(x, {regions, 1, columns.bins, s[3]})});
  Operator product{OpKind::kBatchMatmul, {}};
  product.attributes.data_layout = "BMK";
  product.attributes.kernel_layout = "BNK";
  const int bins =
      node.Emit(product, {node.EmitReshape(every, {regions * rows.bins, columns.bins, s[3]}),
                          node.EmitReshape(of_rows, {regions * rows.bins, s[1], s[3]})});
  return node.EmitTranspose(node.EmitReshape(bins, {regions, rows.bins, columns.bins, s[1]}),
                            {0, 3, 1, 2});
}

}  // namespace tilewright
