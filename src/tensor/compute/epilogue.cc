#include <utility>

#include "src/tensor/compute/internal.h"
#include "src/tensor/compute/linear_index.h"

namespace tilewright {
namespace {

/// The value after one step, with the operand's buffer appended to `inputs`.
Result<Expr> ApplyStep(const EpilogueStep& step, const Expr& current, const std::vector<Axis>& axes,
                       const LinearIndex& channel, std::vector<Buffer>& inputs) {
  const DataType dtype = current.dtype();
  std::vector<TensorType> types{TensorType{{}, dtype}};
  Expr operand;
  if (step.operand == OperandKind::kScalar) {
    operand = ConstantOf(dtype, step.scalar);
  } else if (step.operand != OperandKind::kNone) {
    const bool vector = step.operand == OperandKind::kChannel;
    std::vector<std::int64_t> shape;
    for (const Axis& axis : axes) shape.push_back(axis.extent);
    if (vector) shape = {channel.Max() + 1};
    const Buffer buffer =
        MakeBuffer("operand" + std::to_string(inputs.size()), step.operand_dtype, std::move(shape));
    operand = vector ? MakeLoad(buffer, {channel.ToExpr()}) : MakeLoad(buffer, VarsOf(axes));
    operand = MakeCast(dtype, operand);
    inputs.push_back(buffer);
  }
  if (operand) types.push_back(types[0]);
  auto type = InferType(step.op, types);
  if (!type.ok()) return type.status().WithContext("epilogue");
  if (!operand) return ElementwiseExpr(step.op, current, {});
  return step.operand_first ? ElementwiseExpr(step.op, operand, current)
                            : ElementwiseExpr(step.op, current, operand);
}

}  // namespace

DataType SumType(const Workload& workload) {
  return workload.out_dtype == kFloat16 ? kFloat32 : workload.out_dtype;
}

Result<ComputeOp> EpilogueStage(const Epilogue& epilogue, Expr value, DataType type,
                                std::vector<Axis> axes, const LinearIndex& channel,
                                std::vector<Buffer>& inputs) {
  for (const EpilogueStep& step : epilogue.steps) {
    const bool casts = step.op.kind == OpKind::kCast || step.op.kind == OpKind::kSaturateCast;
    if (casts && step.op.attributes.dtype) {
      value = MakeCast(std::exchange(type, *step.op.attributes.dtype), value);
    } else if (value.dtype() == kFloat16) {
      value = MakeCast(kFloat32, value);
    }
    auto next = ApplyStep(step, value, axes, channel, inputs);
    TW_RETURN_IF_ERROR(next);
    value = *next;
  }
  return PlainStage("output", type, std::move(axes), MakeCast(type, std::move(value)));
}

}  // namespace tilewright
