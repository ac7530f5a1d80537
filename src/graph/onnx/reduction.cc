// Reductions and softmax.

#include <algorithm>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

// axes: an attribute, since set `inputs_since` an input.
void ImportReduce(OnnxNode& node, OpKind kind, std::int64_t inputs_since) {
  const int data = node.Input(0);
  Operator op{kind, {}};
  op.attributes.keepdims = node.Int("keepdims", 1) != 0;
  for (std::int64_t axis : node.IntsAttributeOrInput("axes", 1, inputs_since, {})) {
    op.attributes.axes.push_back(node.Axis(axis, node.Rank(data)));
  }
  std::ranges::sort(op.attributes.axes);
  if (op.attributes.axes.empty() && node.Int("noop_with_empty_axes", 0) != 0) {
    return node.Return(Operator{OpKind::kIdentity, {}}, {data});
  }
  node.Return(op, {data});
}

void ImportReduceMean(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMean, 18); }
void ImportReduceSum(OnnxNode& node) { ImportReduce(node, OpKind::kReduceSum, 13); }
void ImportReduceMax(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMax, 18); }
void ImportReduceMin(OnnxNode& node) { ImportReduce(node, OpKind::kReduceMin, 18); }

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
    {"LogSoftmax", &ImportLogSoftmax}, {"ReduceMax", &ImportReduceMax},
    {"ReduceMean", &ImportReduceMean}, {"ReduceMin", &ImportReduceMin},
    {"ReduceSum", &ImportReduceSum},   {"Softmax", &ImportSoftmax},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxReductionHandlers() { return kReductionHandlers; }

}  // namespace tilewright
