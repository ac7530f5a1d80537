#include "src/tensor/work.h"

#include <algorithm>

namespace tilewright {
namespace {

/// Operations for each element that is read (reductions and softmax) or written (all others).
double OperationsPerElement(const Operator& op, const TensorType& input) {
  const OpAttributes& a = op.attributes;
  if (IsElementwise(op.kind) || IsChoice(op.kind)) return 1;
  switch (op.kind) {
    case OpKind::kMaxPool2d:
    case OpKind::kAvgPool2d:
      return static_cast<double>(a.pool_size[0]) * static_cast<double>(a.pool_size[1]);
    case OpKind::kGlobalAvgPool2d:
    case OpKind::kGlobalMaxPool2d:
    case OpKind::kReduceMean:
    case OpKind::kReduceSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
      return 1;
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
      return 5;  // maximum, difference, exponential, sum, quotient
    case OpKind::kLrn:
      // A square and a sum for each channel of the window, then a power and a quotient.
      return 2.0 * static_cast<double>(std::min(a.size, input.shape[1])) + 4;
    case OpKind::kBatchNorm:
      return 4;
    default:
      return 0;
  }
}

bool CountsByInput(OpKind kind) {
  return kind == OpKind::kGlobalAvgPool2d || kind == OpKind::kGlobalMaxPool2d ||
         kind == OpKind::kReduceMean || kind == OpKind::kReduceSum || kind == OpKind::kReduceMax ||
         kind == OpKind::kReduceMin || kind == OpKind::kSoftmax || kind == OpKind::kLogSoftmax;
}

}  // namespace

Work WorkOf(const Operator& op, std::span<const TensorType> inputs, const TensorType& result) {
  Work work;
  work.bytes = result.bytes();
  for (const TensorType& input : inputs) work.bytes += input.bytes();
  if (IsAnchor(op.kind)) {
    const auto workload = Workload::FromOperator(op, inputs[0], inputs[1]);
    if (workload.ok()) work.operations = 2 * static_cast<double>(workload->macs());
    return work;
  }
  const TensorType& counted = CountsByInput(op.kind) ? inputs[0] : result;
  work.operations = OperationsPerElement(op, inputs[0]) * static_cast<double>(counted.elements());
  return work;
}

Work WorkOf(const Workload& workload) {
  const auto result = workload.OutputType();
  if (!result.ok()) return {};
  Work work;
  work.bytes = workload.data.bytes() + result->bytes();
  if (workload.has_weight()) work.bytes += workload.weight.bytes();
  if (IsAnchor(workload.op)) {
    work.operations = 2 * static_cast<double>(workload.macs());
  } else if (workload.op == OpKind::kIdentity) {
    work.operations = static_cast<double>(result->elements());  // each is widened
  } else {
    work.operations = WorkOf(workload.ToOperator(), {&workload.data, 1}, *result).operations;
  }
  return work;
}

}  // namespace tilewright
