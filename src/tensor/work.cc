#include "src/tensor/work.h"

#include <algorithm>

#include "src/target/device.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

// At least ten times the rate of any device: a CPU thread with 8-bit tile instructions reaches 2e13
// operations a second, a GPU with sparse 4-bit products 2e16.
constexpr double kMaxThreadRate = 2e14;
constexpr double kMaxDeviceRate = 2e17;

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
  const OperatorRow& row = RowOf(op.kind);
  if (row.operations != nullptr) {
    work.operations = row.operations(op, inputs, result);
  } else if (row.element != nullptr) {
    work.operations = static_cast<double>(result.elements());
  }
  return work;
}

Work WorkOf(const Workload& workload) {
  const auto result = workload.OutputType();
  if (!result.ok()) return {};
  Work work;
  if (workload.op == OpKind::kExpression) {
    work.bytes = result->bytes();
    for (const ExpressionInput& input : workload.expression.inputs)
      work.bytes += input.type.bytes();
    work.operations = workload.expression.operations();
    return work;
  }
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

double MinSeconds(const Workload& workload, const Target& target) {
  const double most = DeviceTraitsOf(target).machine_code
                          ? kMaxThreadRate * std::max(1, target.num_threads())
                          : kMaxDeviceRate;
  return std::max(kMinSeconds, WorkOf(workload).operations / most);
}

}  // namespace tilewright
