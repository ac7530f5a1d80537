// NonMaxSuppression, whose number of results depends on its inputs. This implementation returns the
// maximum number of rows, batches times classes times boxes per class: first the rows of the ONNX
// result, in its order, then rows of -1.
//
// There is one step for each box of a class. It selects the best remaining score and removes the
// boxes that overlap this box too much. The overlaps are one table for all steps.

#include "src/graph/onnx/operators/non_max_suppression.h"

#include <algorithm>
#include <limits>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kMaxBoxSteps = 1024;                // some operators for each
constexpr std::int64_t kMaxPairs = std::int64_t{1} << 26;  // of boxes, of rows
constexpr double kOut = -std::numeric_limits<double>::infinity();

// Low and high ends along one dimension of all boxes, [B,N,1].
struct Ends {
  int low = -1, high = -1;
};

// Emits column `at` of boxes [B,N,4].
int Column(OnnxNode& node, int boxes, std::int64_t at) {
  if (!node.ok()) return -1;
  Operator slice = WholeSlice(node.TypeOf(boxes).shape);
  slice.attributes.begin[2] = at;
  slice.attributes.end[2] = at + 1;
  return node.Emit(slice, {boxes});
}

// Columns are y1 x1 y2 x2 with corners in any order, or centers and sizes: x y width height. x is
// dimension 1.
Ends EndsOf(OnnxNode& node, int boxes, std::int64_t dimension, bool centres) {
  const int a = Column(node, boxes, centres ? 1 - dimension : dimension);
  const int b = Column(node, boxes, (centres ? 1 - dimension : dimension) + 2);
  if (!centres) {
    return {node.Emit(OpKind::kMin, {a, b}), node.Emit(OpKind::kMax, {a, b})};
  }
  const int half = node.Emit(OpKind::kMul, b, 0.5);
  return {node.Emit(OpKind::kSub, {a, half}), node.Emit(OpKind::kAdd, {a, half})};
}

// Emits the overlap of boxes i [B,N,1] and j [B,1,N] along one dimension.
int Common(OnnxNode& node, const Ends& ends, std::int64_t batches, std::int64_t boxes) {
  const auto other = [&](int id) { return node.EmitReshape(id, {batches, 1, boxes}); };
  const int low = node.Emit(OpKind::kMax, {ends.low, other(ends.low)});
  const int high = node.Emit(OpKind::kMin, {ends.high, other(ends.high)});
  return node.Emit(OpKind::kMax, node.Emit(OpKind::kSub, {high, low}), 0);
}

int Both(OnnxNode& node, int a, int b) {
  return node.Emit(OpKind::kWhere, {a, b, node.EmitScalar(kBool, 0)});
}

// Emits bool [B,N,N]: whether the intersection over union of two boxes exceeds `threshold`.
int Overlaps(OnnxNode& node, int boxes, bool centres, double threshold) {
  if (!node.ok()) return -1;
  const Shape shape = node.TypeOf(boxes).shape;
  const Ends y = EndsOf(node, boxes, 0, centres), x = EndsOf(node, boxes, 1, centres);
  const int area = node.Emit(OpKind::kMul, {node.Emit(OpKind::kSub, {y.high, y.low}),
                                            node.Emit(OpKind::kSub, {x.high, x.low})});
  const int common = node.Emit(
      OpKind::kMul, {Common(node, y, shape[0], shape[1]), Common(node, x, shape[0], shape[1])});
  const int other = node.EmitReshape(area, {shape[0], 1, shape[1]});
  const int sum = node.Emit(OpKind::kAdd, {area, other});
  const int together = node.Emit(OpKind::kSub, {sum, common});
  const int bound = node.EmitScalar(node.TypeOf(boxes).dtype, threshold);
  const int none = node.EmitScalar(node.TypeOf(boxes).dtype, 0);
  const int share = node.Emit(OpKind::kDiv, {common, together});
  const int more = node.Emit(OpKind::kLess, {bound, share});
  const int real =
      Both(node, node.Emit(OpKind::kLess, {none, area}), node.Emit(OpKind::kLess, {none, other}));
  return Both(node, Both(node, real, node.Emit(OpKind::kLess, {none, common})), more);
}

// Emits the boxes of each class in the order of selection, int32 [B,C,steps]; -1 if no box remains.
int Taken(OnnxNode& node, int scores, int overlaps, std::int64_t steps) {
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(scores);
  const Shape& s = type.shape;
  Operator most{OpKind::kReduceMax, {}}, least{OpKind::kReduceMin, {}};
  most.attributes.axes = least.attributes.axes = {2};
  most.attributes.keepdims = least.attributes.keepdims = true;
  const int places = EmitPositions(node, kInt32, s[2]);
  const int last = node.EmitScalar(kInt32, static_cast<double>(s[2] - 1));
  const int none = node.EmitScalar(kInt32, -1), out = node.EmitScalar(type.dtype, kOut);
  const int yes = node.EmitScalar(kBool, 1);
  std::vector<int> taken;
  for (std::int64_t step = 0; step < steps && node.ok(); ++step) {
    const int best = node.Emit(most, {scores});
    const int hit = node.Emit(OpKind::kEqual, {scores, best});
    const int box = node.Emit(least, {node.Emit(OpKind::kWhere, {hit, places, last})});
    const int left = node.Emit(OpKind::kLess, {out, best});
    taken.push_back(node.Emit(OpKind::kWhere, {left, box, none}));
    if (step + 1 == steps) break;
    const int near = EmitGathered(node, overlaps, box);
    const int self = node.Emit(OpKind::kEqual, {places, box});
    const int gone = node.Emit(OpKind::kWhere, {self, yes, near});
    scores = node.Emit(OpKind::kWhere, {gone, out, scores});
  }
  Operator concat{OpKind::kConcat, {}};
  concat.attributes.axis = 2;
  return taken.size() == 1 ? taken[0] : node.Emit(concat, taken);
}

// Moves rows [R,3] whose last column is -1 to the end and sets them to -1.
int InFront(OnnxNode& node, int rows, int boxes) {
  if (!node.ok()) return -1;
  const std::int64_t count = node.TypeOf(rows).shape[0];
  Operator sum{OpKind::kReduceSum, {}}, most{OpKind::kReduceMax, {}};
  sum.attributes.axes = most.attributes.axes = {1};
  const int column = EmitPositions(node, kInt32, count, 1);
  const int row = EmitPositions(node, kInt32, count);
  const int zero = node.EmitScalar(kInt32, 0), one = node.EmitScalar(kInt32, 1);
  const int none = node.EmitScalar(kInt32, -1);
  const int empty = node.Emit(OpKind::kLess, {node.EmitReshape(boxes, {1, count}), zero});
  const int valid = node.Emit(OpKind::kWhere, {empty, zero, one});
  // The new position of a row is the number of valid rows before it.
  const int before = node.Emit(OpKind::kLess, {row, column});
  const int place = node.Emit(sum, {node.Emit(OpKind::kWhere, {before, valid, zero})});
  const int own = node.Emit(OpKind::kEqual, {node.EmitReshape(place, {1, count}), column});
  const int found =
      node.Emit(OpKind::kWhere, {empty, none, node.Emit(OpKind::kWhere, {own, row, none})});
  const int source = node.Emit(most, {found});
  const int picked =
      node.Emit(Operator{OpKind::kGather, {}}, {rows, node.Emit(OpKind::kMax, {source, zero})});
  const int missing = node.EmitReshape(node.Emit(OpKind::kLess, {source, zero}), {count, 1});
  return node.Emit(OpKind::kWhere, {missing, none, picked});
}

// Inputs: boxes [B,N,4], scores [B,C,N], maximum number of boxes per class, thresholds of overlap
// and score.
void ImportNonMaxSuppression(OnnxNode& node) {
  const int boxes = node.Input(0);
  int scores = node.Input(1);
  node.ExpectRank(0, 3);
  node.ExpectRank(1, 3);
  const double wanted = node.HasInput(2) ? node.KnownScalar(2) : 0;
  const double overlap = node.HasInput(3) ? node.KnownScalar(3) : 0;
  const bool centres = node.Int("center_point_box", 0) != 0;
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(scores), box = node.TypeOf(boxes);
  const Shape& s = type.shape;
  if (box.shape != Shape{s[0], s[2], 4} || box.dtype != type.dtype || !type.dtype.is_float()) {
    return node.FailInvalid("boxes are " + box.ToString() + ", scores " + type.ToString() +
                            "; expected floats [B,N,4] and [B,C,N]");
  }
  if (!(wanted >= 1)) return node.FailUnsupported("no boxes requested: the result is zero-size");
  const auto steps = static_cast<std::int64_t>(std::min(wanted, static_cast<double>(s[2])));
  const double rows = static_cast<double>(s[0] * s[1]) * static_cast<double>(steps);
  const double pairs = static_cast<double>(s[0] * s[2]) * static_cast<double>(s[2]);
  if (steps > kMaxBoxSteps || rows * rows > kMaxPairs || pairs > kMaxPairs) {
    return node.FailUnsupported(
        "selects up to " + std::to_string(steps) + " of " + std::to_string(s[2]) + " boxes in " +
        std::to_string(s[0] * s[1]) +
        " classes of all batches; expected at most 1024, 8192 boxes, and 8192 rows of results");
  }
  if (node.HasInput(4)) {
    const int bound = node.EmitScalar(type.dtype, node.KnownScalar(4));
    const int above = node.Emit(OpKind::kLess, {bound, scores});
    scores = node.Emit(OpKind::kWhere, {above, scores, node.EmitScalar(type.dtype, kOut)});
  }
  const int taken = Taken(node, scores, Overlaps(node, boxes, centres, overlap), steps);
  const auto count = static_cast<std::int64_t>(rows);
  Tensor names(TensorType{{count, 2}, kInt32});  // batch and class of each row
  for (std::int64_t i = 0; i < count; ++i) {
    names.Set(2 * i, static_cast<double>(i / steps / s[1]));
    names.Set(2 * i + 1, static_cast<double>(i / steps % s[1]));
  }
  Operator concat{OpKind::kConcat, {}};
  concat.attributes.axis = 1;
  const int all =
      node.Emit(concat, {node.EmitConstant(std::move(names)), node.EmitReshape(taken, {count, 1})});
  node.SetOutput(node.EmitCast(InFront(node, all, taken), kInt64));
}

constexpr OnnxHandlerEntry kSuppressionHandlers[] = {
    {"NonMaxSuppression", &ImportNonMaxSuppression},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxNonMaxSuppressionHandlers() { return kSuppressionHandlers; }

}  // namespace tilewright
