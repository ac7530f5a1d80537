// Classification losses, as in networks that are exported with their training loss.

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Emits for each target the value of its class along dimension 1 of `values`; 0 for an invalid
// class.
int OfTarget(OnnxNode& node, int hit, int values) {
  Operator sum{OpKind::kReduceSum, {}};
  sum.attributes.axes = {1};
  const int none = node.EmitScalar(node.TypeOf(values).dtype, 0);
  return node.Emit(sum, {node.Emit(OpKind::kWhere, {hit, values, none})});
}

// Emits the negative log-probability `logs` [N,C,…] of each target times the weight of its class
// (input `weights`), then reduces it: weighted mean, sum, or none.
void ReturnLoss(OnnxNode& node, int logs, int weights) {
  const std::string reduction = node.String("reduction", "mean");
  const bool ignores = node.HasAttribute("ignore_index");
  const double ignored = static_cast<double>(node.LongInt("ignore_index"));
  int target = node.Input(1);
  if (!node.ok()) return;
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    return node.FailInvalid("attribute reduction is " + reduction + ", expected mean, sum or none");
  }
  const TensorType type = node.TypeOf(logs);
  Shape expected = type.shape;
  if (expected.size() >= 2) expected.erase(expected.begin() + 1);
  const TensorType given = node.TypeOf(target);
  if (type.shape.size() < 2 || given.shape != expected || !given.dtype.is_integer()) {
    return node.FailInvalid("targets are " + given.ToString() + ", the scores " + type.ToString());
  }
  Shape row = given.shape;
  row.insert(row.begin() + 1, 1);
  const int classes = EmitPositions(node, given.dtype, type.shape[1], type.shape.size() - 2);
  const int hit = node.Emit(OpKind::kEqual, {node.EmitReshape(target, row), classes});
  int factor = -1;
  if (node.HasInput(weights)) {
    Shape shape(type.shape.size() - 1, 1);
    shape[0] = type.shape[1];
    const int each = node.EmitReshape(node.Input(weights), shape);
    factor = OfTarget(node, hit, each);
  }
  const int none = node.EmitScalar(type.dtype, 0), one = node.EmitScalar(type.dtype, 1);
  if (ignores) {
    const int out = node.Emit(OpKind::kEqual, target, ignored);
    factor = node.Emit(OpKind::kWhere, {out, none, factor < 0 ? one : factor});
  }
  int loss = node.Emit(OpKind::kNegate, {OfTarget(node, hit, logs)});
  if (factor >= 0) {
    // Ignored targets may have infinite values.
    const int zero = node.Emit(OpKind::kEqual, factor, 0);
    loss = node.Emit(OpKind::kWhere, {zero, none, node.Emit(OpKind::kMul, {loss, factor})});
  }
  if (reduction == "none") return node.SetOutput(node.Emit(OpKind::kIdentity, {loss}));
  Operator sum{reduction == "mean" && factor < 0 ? OpKind::kReduceMean : OpKind::kReduceSum, {}};
  int result = node.Emit(sum, {loss});
  if (reduction == "mean" && factor >= 0) {
    result = node.Emit(OpKind::kDiv, {result, node.Emit(sum, {factor})});
  }
  node.SetOutput(result);
}

void ImportNegativeLogLikelihood(OnnxNode& node) { ReturnLoss(node, node.Input(0), 2); }

void ImportSoftmaxCrossEntropy(OnnxNode& node) {
  const int scores = node.Input(0);
  Operator softmax{OpKind::kLogSoftmax, {}};
  softmax.attributes.axis = 1;
  const int logs = node.Emit(softmax, {scores});
  ReturnLoss(node, logs, 2);
  if (node.HasOutput(1)) node.SetOutput(node.Emit(OpKind::kIdentity, {logs}), 1);
}

constexpr OnnxHandlerEntry kLossHandlers[] = {
    {"NegativeLogLikelihoodLoss", &ImportNegativeLogLikelihood},
    {"SoftmaxCrossEntropyLoss", &ImportSoftmaxCrossEntropy},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxLossHandlers() { return kLossHandlers; }

}  // namespace tilewright
