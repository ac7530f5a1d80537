// Reductions and softmax.

#include <algorithm>
#include <limits>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// axes: an attribute; an input since opset `inputs_since`. Returns an identity if the node has no
// axes to reduce.
Operator ReductionOf(OnnxNode& node, OpKind kind, std::int64_t inputs_since = 18) {
  Operator op{kind, {}};
  op.attributes.keepdims = node.Int("keepdims", 1) != 0;
  for (std::int64_t axis : node.IntsAttributeOrInput("axes", 1, inputs_since, {})) {
    op.attributes.axes.push_back(node.Axis(axis, node.Rank(node.Input(0))));
  }
  std::ranges::sort(op.attributes.axes);
  const bool may_do_nothing = node.Int("noop_with_empty_axes", 0) != 0;
  return may_do_nothing && op.attributes.axes.empty() ? Operator{OpKind::kIdentity, {}} : op;
}

void ImportReduce(OnnxNode& node, OpKind kind, std::int64_t inputs_since) {
  const int data = node.Input(0);
  node.Return(ReductionOf(node, kind, inputs_since), {data});
}

void ImportReduceMean(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMean, 18); }
void ImportReduceSum(OnnxNode& node) { ImportReduce(node, OpKind::kReduceSum, 13); }
void ImportReduceMax(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMax, 18); }
void ImportReduceMin(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMin, 18); }

// Roots and logarithms of integers are computed in float64 and truncated.
int RealInput(OnnxNode& node, int id) {
  return node.ok() && node.TypeOf(id).dtype.is_integer() ? node.EmitCast(id, kFloat64) : id;
}
void ReturnReduced(OnnxNode& node, int value) {
  node.SetOutput(node.EmitCast(value, node.InputType(0).dtype));
}

int Square(OnnxNode& node, int id) { return node.Emit(OpKind::kMul, {id, id}); }

void ImportReduceL1(OnnxNode& node) {
  const int magnitude = node.Emit(OpKind::kAbs, {node.Input(0)});
  node.Return(ReductionOf(node, OpKind::kReduceSum), {magnitude});
}
void ImportReduceL2(OnnxNode& node) {
  const int squares = Square(node, RealInput(node, node.Input(0)));
  const int sum = node.Emit(ReductionOf(node, OpKind::kReduceSum), {squares});
  ReturnReduced(node, node.Emit(OpKind::kSqrt, {sum}));
}
void ImportReduceSumSquare(OnnxNode& node) {
  const int squares = Square(node, node.Input(0));
  node.Return(ReductionOf(node, OpKind::kReduceSum), {squares});
}
void ImportReduceLogSum(OnnxNode& node) {
  const int data = RealInput(node, node.Input(0));
  const int sum = node.Emit(ReductionOf(node, OpKind::kReduceSum), {data});
  ReturnReduced(node, node.Emit(OpKind::kLog, {sum}));
}
// Subtracts the largest element from the exponents to avoid overflow, unless it is infinite. Then
// the exponentials are zero or infinite, and so is the result.
void ImportReduceLogSumExp(OnnxNode& node) {
  const int data = RealInput(node, node.Input(0));
  const Operator sum = ReductionOf(node, OpKind::kReduceSum);
  Operator largest = sum;
  if (largest.kind != OpKind::kIdentity) largest.kind = OpKind::kReduceMax;
  const auto finite = [&](int id) {
    const double infinity = std::numeric_limits<double>::infinity();
    const int magnitude = node.Emit(OpKind::kAbs, {id});
    const int infinite = node.Emit(OpKind::kEqual, magnitude, infinity);
    const int zero = node.EmitScalar(node.ok() ? node.TypeOf(id).dtype : kFloat32, 0);
    return node.Emit(OpKind::kWhere, {infinite, zero, id});
  };
  const int shift = finite(node.Emit(largest, {data}));
  largest.attributes.keepdims = true;
  const int centred = node.Emit(OpKind::kSub, {data, finite(node.Emit(largest, {data}))});
  const int log = node.Emit(OpKind::kLog, {node.Emit(sum, {node.Emit(OpKind::kExp, {centred})})});
  ReturnReduced(node, node.Emit(OpKind::kAdd, {log, shift}));
}

// Emits elements begin … end - 1 of a dimension, padded with `fill` on both sides.
int Excerpt(OnnxNode& node, int id, std::int64_t axis, std::int64_t begin, std::int64_t end,
            std::int64_t before, std::int64_t after, double fill) {
  if (!node.ok()) return -1;
  const auto at = static_cast<std::size_t>(axis);
  Operator slice = WholeSlice(node.TypeOf(id).shape);
  slice.attributes.begin[at] = begin;
  slice.attributes.end[at] = end;
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_width.assign(2 * slice.attributes.end.size(), 0);
  pad.attributes.pad_width[2 * at] = before;
  pad.attributes.pad_width[2 * at + 1] = after;
  pad.attributes.pad_value = fill;
  const int part = node.Emit(slice, {id});
  return before + after == 0 ? part : node.Emit(pad, {part});
}

// Multiplies the two halves of a dimension until one element remains; an odd element is multiplied
// by 1.
void ImportReduceProd(OnnxNode& node) {
  int result = node.Input(0);
  const Operator op = ReductionOf(node, OpKind::kReduceSum);
  if (!node.ok()) return;
  if (op.kind == OpKind::kIdentity) return node.Return(op, {result});
  Shape shape = node.TypeOf(result).shape, kept;
  if (Product(shape) == 0) {  // an empty product is 1
    const int sum = node.Emit(op, {result});
    return node.ReturnFilled(node.TypeOf(sum), 1);
  }
  for (std::int64_t axis = 0; axis < std::ssize(shape); ++axis) {
    std::int64_t& extent = shape[static_cast<std::size_t>(axis)];
    const auto& axes = op.attributes.axes;
    const bool reduced = axes.empty() || std::ranges::find(axes, axis) != axes.end();
    while (reduced && extent > 1) {
      const std::int64_t half = (extent + 1) / 2;
      const int low = Excerpt(node, result, axis, 0, half, 0, 0, 1);
      const int high = Excerpt(node, result, axis, half, extent, 0, 2 * half - extent, 1);
      result = node.Emit(OpKind::kMul, {low, high});
      extent = half;
    }
    if (!reduced || op.attributes.keepdims) kept.push_back(extent);
  }
  Operator reshape{OpKind::kReshape, {}};
  reshape.attributes.new_shape = kept;
  node.Return(reshape, {result});
}

// Combines each element with those 1, 2, 4, … positions before it (reverse: after it). After a
// logarithmic number of steps it is the sum or product of all of them.
void ImportCumulative(OnnxNode& node, OpKind kind, double neutral) {
  int result = node.Input(0);
  const Shape given = node.KnownInts(1);
  if (node.ok() && given.size() != 1) return node.FailInvalid("has several axes, expected one");
  const std::int64_t axis = node.Axis(node.ok() ? given[0] : 0, node.Rank(result));
  const bool reverse = node.Int("reverse", 0) != 0, exclusive = node.Int("exclusive", 0) != 0;
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(result);
  const std::int64_t extent = type.shape[static_cast<std::size_t>(axis)];
  const auto moved = [&](std::int64_t distance) {
    return reverse ? Excerpt(node, result, axis, distance, extent, 0, distance, neutral)
                   : Excerpt(node, result, axis, 0, extent - distance, distance, 0, neutral);
  };
  if (exclusive && extent == 1) return node.ReturnFilled(type, neutral);
  if (exclusive) result = moved(1);
  for (std::int64_t distance = 1; distance < extent; distance *= 2) {
    result = node.Emit(kind, {result, moved(distance)});
  }
  node.SetOutput(result);
}
void ImportCumSum(OnnxNode& node) { ImportCumulative(node, OpKind::kAdd, 0); }
void ImportCumProd(OnnxNode& node) { ImportCumulative(node, OpKind::kMul, 1); }

// Until opset 12 the dimensions from `axis` on are treated as one.
void ImportSoftmaxAs(OnnxNode& node, OpKind kind) {
  const int data = node.Input(0);
  Operator op{kind, {}};
  op.attributes.flatten = node.opset() < 13;
  op.attributes.axis = node.Axis(node.Int("axis", node.opset() < 13 ? 1 : -1), node.Rank(data));
  // Equivalent if all dimensions after the axis are 1, and simpler to compute.
  const auto shape = node.TypeOf(data).shape;
  const bool last = std::all_of(
      shape.begin() + std::min<std::ptrdiff_t>(op.attributes.axis + 1, std::ssize(shape)),
      shape.end(), [](std::int64_t extent) { return extent == 1; });
  if (last) op.attributes.flatten = false;
  node.Return(op, {data});
}

void ImportSoftmax(OnnxNode& node) { ImportSoftmaxAs(node, OpKind::kSoftmax); }
void ImportLogSoftmax(OnnxNode& node) { ImportSoftmaxAs(node, OpKind::kLogSoftmax); }

constexpr OnnxHandlerEntry kReductionHandlers[] = {
    {"CumProd", &ImportCumProd},
    {"CumSum", &ImportCumSum},
    {"LogSoftmax", &ImportLogSoftmax},
    {"ReduceL1", &ImportReduceL1},
    {"ReduceL2", &ImportReduceL2},
    {"ReduceLogSum", &ImportReduceLogSum},
    {"ReduceLogSumExp", &ImportReduceLogSumExp},
    {"ReduceMax", &ImportReduceMax},
    {"ReduceMean", &ImportReduceMean},
    {"ReduceMin", &ImportReduceMin},
    {"ReduceProd", &ImportReduceProd},
    {"ReduceSum", &ImportReduceSum},
    {"ReduceSumSquare", &ImportReduceSumSquare},
    {"Softmax", &ImportSoftmax},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxReductionHandlers() { return kReductionHandlers; }

}  // namespace tilewright
