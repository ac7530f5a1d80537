// RoiAlign: each region of an image is divided into bins. A bin is the mean or maximum of a few
// samples. A sample interpolates four elements, two along each dimension. Positions along height
// and width are computed separately. Channels are the last dimension during the gathers, so that an
// element is one row.

#include "src/graph/onnx/operators/roi_align.h"

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Two neighbours of each sample along one dimension, [R,S].
struct Neighbours {
  int low = -1, high = -1;                // int32
  int low_weight = -1, high_weight = -1;  // float32; 0 for samples outside of the image
};

// Samples are in the centers of equal parts of each bin. A sample at most one element outside of
// the image uses the border element; a sample further outside is zero.
Neighbours NeighboursAlong(OnnxNode& node, int begin, int end, std::int64_t size,
                           const RoiSampling& how) {
  const double offset = how.half_pixel ? 0.5 : 0, last = static_cast<double>(size - 1);
  const auto scaled = [&](int id) {
    return node.Emit(OpKind::kSub, node.Emit(OpKind::kMul, id, how.scale), offset);
  };
  begin = scaled(begin);
  int length = node.Emit(OpKind::kSub, {scaled(end), begin});
  if (!how.half_pixel) length = node.Emit(OpKind::kMax, length, 1);
  const std::int64_t samples = how.bins * how.ratio;
  Tensor middles(TensorType{{1, samples}, kFloat32});
  for (std::int64_t i = 0; i < samples; ++i) {
    middles.Set(i, (static_cast<double>(i) + 0.5) / static_cast<double>(samples));
  }
  const int along = node.Emit(OpKind::kMul, {length, node.EmitConstant(std::move(middles))});
  const int place = node.Emit(OpKind::kAdd, {begin, along});
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_max = last;
  const int within = node.Emit(clip, {place});
  const int low = node.Emit(OpKind::kFloor, {within});
  const int high = node.Emit(OpKind::kMin, node.Emit(OpKind::kAdd, low, 1), last);
  const int part = node.Emit(OpKind::kSub, {within, low});
  const int rest = node.Emit(OpKind::kAdd, node.Emit(OpKind::kNegate, {part}), 1);
  clip.attributes.a_min = -1;
  clip.attributes.a_max = static_cast<double>(size);
  const int inside = node.Emit(OpKind::kEqual, {node.Emit(clip, {place}), place});
  const auto weight = [&](int id) {
    return node.Emit(OpKind::kWhere, {inside, id, node.EmitScalar(kFloat32, 0)});
  };
  const auto index = [&](int id) { return node.EmitCast(id, kInt32, OpKind::kSaturateCast); };
  return {index(low), index(high), weight(rest), weight(part)};
}

// Reshapes [R,S] to broadcast over samples [R,SH,SW] of both dimensions.
int AlongHeight(OnnxNode& node, int id) {
  if (!node.ok()) return -1;
  const Shape shape = node.TypeOf(id).shape;
  return node.EmitReshape(id, {shape[0], shape[1], 1});
}
int AlongWidth(OnnxNode& node, int id) {
  if (!node.ok()) return -1;
  const Shape shape = node.TypeOf(id).shape;
  return node.EmitReshape(id, {shape[0], 1, shape[1]});
}

// Emits the samples of all regions, [R,SH,SW,C], from rows [1,N*H*W,C]; `begins` [R,1,1] contains
// the first row of each region's image. The mean adds the four weighted neighbours of a sample; the
// maximum takes the largest weighted neighbour.
int Samples(OnnxNode& node, int rows, int begins, std::int64_t columns, const Neighbours& y,
            const Neighbours& x, bool largest) {
  int sum = -1;
  for (int corner = 0; corner < 4 && node.ok(); ++corner) {
    const bool below = corner / 2 == 1, right = corner % 2 == 1;
    int place = AlongHeight(node, below ? y.high : y.low);
    place = node.Emit(OpKind::kMul, place, static_cast<double>(columns));
    place = node.Emit(OpKind::kAdd, {place, AlongWidth(node, right ? x.high : x.low)});
    place = node.Emit(OpKind::kAdd, {place, begins});
    const int weight =
        node.Emit(OpKind::kMul, {AlongHeight(node, below ? y.high_weight : y.low_weight),
                                 AlongWidth(node, right ? x.high_weight : x.low_weight)});
    if (!node.ok()) return -1;
    const Shape at = node.TypeOf(place).shape;
    const std::int64_t channels = node.TypeOf(rows).shape[2];
    const int flat = node.EmitReshape(place, {1, at[0] * at[1] * at[2], 1});
    const int value =
        node.EmitReshape(EmitGathered(node, rows, flat), {at[0], at[1], at[2], channels});
    const int part =
        node.Emit(OpKind::kMul, {value, node.EmitReshape(weight, {at[0], at[1], at[2], 1})});
    sum = sum < 0 ? part : node.Emit(largest ? OpKind::kMax : OpKind::kAdd, {sum, part});
  }
  return sum;
}

// Inputs: images [N,C,H,W], regions [R,4], image index of each region [R]: [R,C,bins of height, of
// width].
void ImportRoiAlign(OnnxNode& node) {
  node.ExpectRank(0, 4);
  node.ExpectRank(1, 2);
  node.ExpectRank(2, 1);
  const int images = node.Input(0), given = node.Input(1), which = node.Input(2);
  const std::string mode = node.String("mode", "avg");
  const std::string pixel = node.String("coordinate_transformation_mode",
                                        node.opset() < 16 ? "output_half_pixel" : "half_pixel");
  RoiSampling rows, columns;
  rows.scale = columns.scale = node.Float("spatial_scale", 1);
  rows.ratio = columns.ratio = node.Int("sampling_ratio", 0);
  rows.half_pixel = columns.half_pixel = pixel == "half_pixel";
  rows.bins = node.Int("output_height", 1);
  columns.bins = node.Int("output_width", 1);
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(images), regions = node.TypeOf(given);
  const Shape& s = type.shape;
  const auto sane = [](std::int64_t value) { return value >= 1 && value <= 4096; };
  if (regions.shape[1] != 4 || node.TypeOf(which).shape != Shape{regions.shape[0]} ||
      !type.dtype.is_float() || !regions.dtype.is_float()) {
    return node.FailInvalid("regions are " + regions.ToString() + ", their images " +
                            node.TypeOf(which).ToString() + "; expected floats [R,4] and [R]");
  }
  if ((mode != "avg" && mode != "max") || (pixel != "half_pixel" && pixel != "output_half_pixel")) {
    return node.FailInvalid("mode is " + mode + ", coordinate_transformation_mode " + pixel +
                            ", expected avg or max, half_pixel or output_half_pixel");
  }
  const bool adaptive = rows.ratio == 0;
  if (adaptive && mode == "max") {
    return node.FailUnsupported(
        "sampling_ratio 0 with mode max needs a number of samples that depends on the size of a "
        "region at run time; expected mode avg, or a sampling_ratio of 1 or more");
  }
  if ((!adaptive && !sane(rows.ratio)) || !sane(rows.bins) || !sane(columns.bins)) {
    return node.FailInvalid("sampling_ratio, output_height or output_width is out of range");
  }
  const int corners = node.EmitCast(given, kFloat32);
  if (adaptive) {
    const int made = EmitAdaptiveRoiAlign(node, images, corners, which, rows, columns);
    return node.SetOutput(node.EmitCast(made, type.dtype));
  }
  // Columns of the regions: x1 y1 x2 y2.
  const auto along = [&](std::int64_t first, std::int64_t size, const RoiSampling& how) {
    const int begin = EmitColumn(node, corners, first);
    const int end = EmitColumn(node, corners, first + 2);
    return NeighboursAlong(node, begin, end, size, how);
  };
  const Neighbours x = along(0, s[3], columns), y = along(1, s[2], rows);
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_max = static_cast<double>(s[0] - 1);
  const int image = node.EmitReshape(node.Emit(clip, {which}), {regions.shape[0], 1, 1});
  const int begins =
      node.Emit(OpKind::kMul, node.EmitCast(image, kInt32), static_cast<double>(s[2] * s[3]));
  const int flat =
      node.EmitReshape(node.EmitTranspose(images, {0, 2, 3, 1}), {1, s[0] * s[2] * s[3], s[1]});
  const int samples =
      Samples(node, node.EmitCast(flat, kFloat32), begins, s[3], y, x, mode == "max");
  Operator reduce{mode == "max" ? OpKind::kReduceMax : OpKind::kReduceMean, {}};
  reduce.attributes.axes = {2, 4};
  const int bins = node.EmitReshape(
      samples, {regions.shape[0], rows.bins, rows.ratio, columns.bins, columns.ratio, s[1]});
  const int result = node.EmitTranspose(node.Emit(reduce, {bins}), {0, 3, 1, 2});
  node.SetOutput(node.EmitCast(result, type.dtype));
}

constexpr OnnxHandlerEntry kRegionHandlers[] = {{"RoiAlign", &ImportRoiAlign}};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxRoiHandlers() { return kRegionHandlers; }

}  // namespace tilewright
