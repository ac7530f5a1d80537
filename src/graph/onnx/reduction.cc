// Reductions and softmax.

#include <algorithm>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

// axes: an attribute, since set `inputs_since` an input. An identity where the node asks for none.
Operator ReductionOf(OnnxNode& node, OpKind kind, std::int64_t inputs_since = 18) {
  Operator op{kind, {}};
  op.attributes.keepdims = node.Int("keepdims", 1) != 0;
  for (std::int64_t axis : node.IntsAttributeOrInput("axes", 1, inputs_since, {})) {
    op.attributes.axes.push_back(node.Axis(axis, node.Rank(node.Input(0))));
  }
  std::ranges::sort(op.attributes.axes);
  const bool none = op.attributes.axes.empty() && node.Int("noop_with_empty_axes", 0) != 0;
  return none ? Operator{OpKind::kIdentity, {}} : op;
}

void ImportReduce(OnnxNode& node, OpKind kind, std::int64_t inputs_since) {
  const int data = node.Input(0);
  node.Return(ReductionOf(node, kind, inputs_since), {data});
}

void ImportReduceMean(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMean, 18); }
void ImportReduceSum(OnnxNode& node) { ImportReduce(node, OpKind::kReduceSum, 13); }
void ImportReduceMax(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMax, 18); }
void ImportReduceMin(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMin, 18); }

int Square(OnnxNode& node, int id) { return node.Emit(OpKind::kMul, {id, id}); }

void ImportReduceL1(OnnxNode& node) {
  const int magnitude = node.Emit(OpKind::kAbs, {node.Input(0)});
  node.Return(ReductionOf(node, OpKind::kReduceSum), {magnitude});
}
void ImportReduceL2(OnnxNode& node) {
  const int squares = Square(node, node.Input(0));
  const int sum = node.Emit(ReductionOf(node, OpKind::kReduceSum), {squares});
  node.SetOutput(node.Emit(OpKind::kSqrt, {sum}));
}
void ImportReduceSumSquare(OnnxNode& node) {
  const int squares = Square(node, node.Input(0));
  node.Return(ReductionOf(node, OpKind::kReduceSum), {squares});
}
void ImportReduceLogSum(OnnxNode& node) {
  const int sum = node.Emit(ReductionOf(node, OpKind::kReduceSum), {node.Input(0)});
  node.SetOutput(node.Emit(OpKind::kLog, {sum}));
}
// The largest element is taken out of the exponents, so that none overflows.
void ImportReduceLogSumExp(OnnxNode& node) {
  const int data = node.Input(0);
  const Operator sum = ReductionOf(node, OpKind::kReduceSum);
  Operator largest = sum;
  if (largest.kind != OpKind::kIdentity) largest.kind = OpKind::kReduceMax;
  const int shift = node.Emit(largest, {data});
  largest.attributes.keepdims = true;
  const int centred = node.Emit(OpKind::kSub, {data, node.Emit(largest, {data})});
  const int log = node.Emit(OpKind::kLog, {node.Emit(sum, {node.Emit(OpKind::kExp, {centred})})});
  node.Return(Operator{OpKind::kAdd, {}}, {log, shift});
}

// Up to set 12 the dimensions from `axis` on count as one.
void ImportSoftmaxAs(OnnxNode& node, OpKind kind) {
  const int data = node.Input(0);
  Operator op{kind, {}};
  op.attributes.flatten = node.opset() < 13;
  op.attributes.axis = node.Axis(node.Int("axis", node.opset() < 13 ? 1 : -1), node.Rank(data));
  // The same thing where the dimensions behind the axis are all 1, and simpler to compute.
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
    {"LogSoftmax", &ImportLogSoftmax},
    {"ReduceL1", &ImportReduceL1},
    {"ReduceL2", &ImportReduceL2},
    {"ReduceLogSum", &ImportReduceLogSum},
    {"ReduceLogSumExp", &ImportReduceLogSumExp},
    {"ReduceMax", &ImportReduceMax},
    {"ReduceMean", &ImportReduceMean},
    {"ReduceMin", &ImportReduceMin},
    {"ReduceSum", &ImportReduceSum},
    {"ReduceSumSquare", &ImportReduceSumSquare},
    {"Softmax", &ImportSoftmax},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxReductionHandlers() { return kReductionHandlers; }

}  // namespace tilewright
