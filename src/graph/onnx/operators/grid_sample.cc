// GridSample: elements of images or volumes at positions that a grid computes. Along each spatial
// dimension a position reads one, two or four elements ("taps"), each times a weight. A result is
// the sum over all combinations of taps. Channels are the last dimension during the gathers, so
// that a tap of a position is one row.

#include <cmath>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

enum class Outside { kZeros, kBorder, kReflection };

struct Sampling {
  int taps = 2;  // 1: nearest, 2: linear, 4: cubic
  Outside outside = Outside::kZeros;
  bool align_corners = false;
};

// Element that every position reads along one dimension: float32 or int32 [N,P,1].
struct GridTap {
  int place = -1;   // index within the dimension
  int weight = -1;  // -1: all weights are 1
  int inside = -1;  // bool; -1: all are inside
};

int Clamped(OnnxNode& node, int id, std::int64_t size) {
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_max = static_cast<double>(size - 1);
  return node.Emit(clip, {id});
}

// Reflects positions at the borders until they are inside. The borders are the centers of the
// outermost elements with align_corners, else their outer edges.
int Reflected(OnnxNode& node, int id, std::int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5;
  const double span = static_cast<double>(size - 1) - 2 * low;
  if (span == 0) return Clamped(node, id, size);
  const int distance = node.Emit(OpKind::kAbs, {node.Emit(OpKind::kSub, id, low)});
  const int turns = node.Emit(OpKind::kFloor, {node.Emit(OpKind::kDiv, distance, span)});
  const int rest = node.Emit(OpKind::kSub, {distance, node.Emit(OpKind::kMul, turns, span)});
  const int pairs = node.Emit(OpKind::kFloor, {node.Emit(OpKind::kMul, turns, 0.5)});
  const int odd = node.Emit(OpKind::kSub, {turns, node.Emit(OpKind::kMul, pairs, 2)});
  const int back = node.Emit(OpKind::kAdd, node.Emit(OpKind::kMul, rest, -2), span);
  const int moved = node.Emit(OpKind::kAdd, {rest, node.Emit(OpKind::kMul, {odd, back})});
  return node.Emit(OpKind::kAdd, moved, low);
}

// ((c[0] * x + c[1]) * x + c[2]) * x + c[3]
int Cubic(OnnxNode& node, int x, const std::array<double, 4>& c) {
  int sum = node.Emit(OpKind::kMul, x, c[0]);
  for (std::size_t i = 1; i < 3; ++i) {
    sum = node.Emit(OpKind::kMul, {node.Emit(OpKind::kAdd, sum, c[i]), x});
  }
  return node.Emit(OpKind::kAdd, sum, c[3]);
}

// Returns the weights of the taps around positions at distance `fraction` after an element. Cubic
// weights are Keys' kernel with a = -0.75.
std::vector<int> WeightsAt(OnnxNode& node, int fraction, int taps) {
  const int rest = node.Emit(OpKind::kAdd, node.Emit(OpKind::kNegate, {fraction}), 1);
  if (taps == 2) return {rest, fraction};
  constexpr double a = -0.75;
  constexpr std::array<double, 4> near = {a + 2, -(a + 3), 0, 1}, far = {a, -5 * a, 8 * a, -4 * a};
  return {Cubic(node, node.Emit(OpKind::kAdd, fraction, 1), far), Cubic(node, fraction, near),
          Cubic(node, rest, near), Cubic(node, node.Emit(OpKind::kAdd, rest, 1), far)};
}

// Returns the taps of positions `at`, from -1 to 1, along a dimension.
std::vector<GridTap> TapsAlong(OnnxNode& node, int at, std::int64_t size, const Sampling& how) {
  const auto extent = static_cast<double>(size);
  int x = node.Emit(OpKind::kAdd, at, 1);
  if (how.align_corners) {
    x = node.Emit(OpKind::kMul, x, (extent - 1) / 2);
  } else {
    x = node.Emit(OpKind::kSub, node.Emit(OpKind::kMul, x, extent), 1);
    x = node.Emit(OpKind::kMul, x, 0.5);
  }
  if (how.taps == 1) x = node.Emit(OpKind::kRoundEven, {x});
  // Cubic taps can be outside although the position is inside. In that case each tap is moved to
  // the inside, not the position, whose weights stay.
  const bool moves = how.taps < 4;
  if (moves && how.outside == Outside::kBorder) x = Clamped(node, x, size);
  if (moves && how.outside == Outside::kReflection) {
    x = Reflected(node, x, size, how.align_corners);
  }
  const int first = how.taps == 1 ? x : node.Emit(OpKind::kFloor, {x});
  std::vector<int> weights = {-1};
  if (how.taps > 1) weights = WeightsAt(node, node.Emit(OpKind::kSub, {x, first}), how.taps);
  std::vector<GridTap> taps;
  for (int i = 0; i < how.taps; ++i) {
    const int step = how.taps == 4 ? i - 1 : i;
    int place = step == 0 ? first : node.Emit(OpKind::kAdd, first, step);
    // Linear taps are at most one element outside, where a reflection equals the border.
    if (how.outside == Outside::kReflection && !moves) {
      place = Reflected(node, place, size, how.align_corners);
    }
    GridTap tap{.weight = weights[static_cast<std::size_t>(i)]};
    const int within = Clamped(node, place, size);
    if (how.outside == Outside::kZeros) tap.inside = node.Emit(OpKind::kEqual, {place, within});
    tap.place = node.EmitCast(within, kInt32, OpKind::kSaturateCast);
    taps.push_back(tap);
  }
  return taps;
}

// Combines taps of two dimensions. The second dimension has `size` elements.
GridTap Together(OnnxNode& node, const GridTap& a, const GridTap& b, std::int64_t size) {
  GridTap both;
  const int begin = node.Emit(OpKind::kMul, a.place, static_cast<double>(size));
  both.place = node.Emit(OpKind::kAdd, {begin, b.place});
  if (a.weight >= 0) both.weight = node.Emit(OpKind::kMul, {a.weight, b.weight});
  if (a.inside >= 0) {
    both.inside = node.Emit(OpKind::kWhere, {a.inside, b.inside, node.EmitScalar(kBool, 0)});
  }
  return both;
}

// Emits the sum of rows [N,S,C] over all taps: [N,P,C]. float16 is summed in float32.
int Sampled(OnnxNode& node, int rows, const std::vector<GridTap>& taps) {
  const DataType dtype = node.TypeOf(rows).dtype;
  int sum = -1;
  for (const GridTap& tap : taps) {
    int value = EmitGathered(node, rows, tap.place);
    if (tap.inside >= 0) {
      value = node.Emit(OpKind::kWhere, {tap.inside, value, node.EmitScalar(dtype, 0)});
    }
    if (tap.weight >= 0) {
      value = node.EmitCast(value, kFloat32);
      value = node.Emit(OpKind::kMul, {value, tap.weight});
    }
    sum = sum < 0 ? value : node.Emit(OpKind::kAdd, {sum, value});
  }
  return node.EmitCast(sum, dtype);
}

Sampling SamplingOf(OnnxNode& node) {
  Sampling how;
  const std::string mode = node.String("mode", "linear");
  const std::string outside = node.String("padding_mode", "zeros");
  how.align_corners = node.Int("align_corners", 0) != 0;
  if (mode == "nearest") {
    how.taps = 1;
  } else if (mode == "cubic" || mode == "bicubic") {  // name until opset 19: bicubic
    how.taps = 4;
  } else if (mode != "linear" && mode != "bilinear") {
    node.FailInvalid("attribute mode is " + mode + ", expected linear, nearest or cubic");
  }
  if (outside == "border") {
    how.outside = Outside::kBorder;
  } else if (outside == "reflection") {
    how.outside = Outside::kReflection;
  } else if (outside != "zeros") {
    node.FailInvalid("attribute padding_mode is " + outside +
                     ", expected zeros, border or reflection");
  }
  if (how.taps > 1 && node.ok() && !node.InputType(0).dtype.is_float()) {
    node.FailUnsupported("input 0 is " + node.InputType(0).ToString() + ", mode " + mode +
                         " needs floats");
  }
  return how;
}

// Inputs: images [N,C,H,W] and a grid [N,h,w,2] of (x, y), or volumes and a grid of (x, y, z).
void ImportGridSample(OnnxNode& node) {
  const TensorType type = node.InputType(0), grid = node.InputType(1);
  const Sampling how = SamplingOf(node);
  if (!node.ok()) return;
  const Shape &shape = type.shape, &at = grid.shape;
  const std::int64_t spatial = std::ssize(shape) - 2;
  const bool fits = (spatial == 2 || (spatial == 3 && how.taps < 4)) && at.size() == shape.size() &&
                    at[0] == shape[0] && at.back() == spatial && grid.dtype.is_float();
  if (!fits) {
    return node.FailUnsupported(
        "data " + type.ToString() + " and grid " + grid.ToString() +
        ", expected images and a grid of pairs, or volumes (not cubic) and a grid of triples");
  }
  const std::int64_t count = grid.elements() / at[0] / spatial;
  const int tuples =
      node.EmitReshape(node.EmitCast(node.Input(1), kFloat32), {at[0], count, spatial});
  std::vector<GridTap> taps;
  for (std::int64_t i = 0; i < spatial; ++i) {
    Operator column = WholeSlice({at[0], count, spatial});
    column.attributes.begin[2] = spatial - 1 - i;  // the last dimension comes first
    column.attributes.end[2] = spatial - i;
    const std::int64_t size = shape[static_cast<std::size_t>(2 + i)];
    const auto own = TapsAlong(node, node.Emit(column, {tuples}), size, how);
    if (i == 0) {
      taps = own;
      continue;
    }
    std::vector<GridTap> all;
    for (const GridTap& before : taps) {
      for (const GridTap& tap : own) all.push_back(Together(node, before, tap, size));
    }
    taps = std::move(all);
  }
  const std::int64_t places = type.elements() / shape[0] / shape[1];
  const int rows =
      node.EmitTranspose(node.EmitReshape(node.Input(0), {shape[0], shape[1], places}), {0, 2, 1});
  const int sampled = node.EmitTranspose(Sampled(node, rows, taps), {0, 2, 1});
  Shape result(at.begin(), at.end() - 1);
  result.insert(result.begin() + 1, shape[1]);
  node.SetOutput(node.EmitReshape(sampled, result));
}

constexpr OnnxHandlerEntry kGridSampleHandlers[] = {{"GridSample", &ImportGridSample}};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxGridSampleHandlers() { return kGridSampleHandlers; }

}  // namespace tilewright
