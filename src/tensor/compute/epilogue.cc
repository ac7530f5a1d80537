#include <utility>

#include "src/tensor/compute/internal.h"
#include "src/tensor/compute/linear_index.h"

namespace tilewright {
namespace {

/// Result of the anchor or a step, and its type for readers.
struct StepValue {
  Expr value;
  DataType type;
};

/// Returns the operand of a step in the type of the current value; appends its buffer to `inputs`.
Result<Expr> OperandExpr(const EpilogueStep& step, const std::vector<StepValue>& values,
                         DataType dtype, const std::vector<Axis>& axes, const LinearIndex& channel,
                         std::vector<Buffer>& inputs) {
  if (step.operand == OperandKind::kNone) return Expr();
  if (step.operand == OperandKind::kScalar) return ConstantOf(dtype, step.scalar);
  if (step.operand == OperandKind::kStep) {
    const StepValue& earlier = values[static_cast<std::size_t>(step.value)];
    TW_RETURN_IF_ERROR(CheckStepOperand(step, earlier.type, values.back().type));
    return MakeCast(dtype, earlier.value);
  }
  std::vector<std::int64_t> shape;
  std::vector<Expr> indices;
  if (step.operand == OperandKind::kChannel) {
    shape = {channel.Max() + 1};
    indices = {channel.ToExpr()};
  } else {
    const bool whole = step.operand == OperandKind::kTensor;
    if (!whole && step.value >> axes.size() != 0) {
      return InvalidArgument("epilogue: a broadcast operand has more dimensions than the result");
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const bool kept = whole || (step.value >> i & 1) != 0;
      shape.push_back(kept ? axes[i].extent : 1);
      indices.push_back(kept ? axes[i].var : Expr(0));
    }
  }
  const Buffer buffer =
      MakeBuffer("operand" + std::to_string(inputs.size()), step.operand_dtype, std::move(shape));
  inputs.push_back(buffer);
  const Expr operand = MakeCast(dtype, MakeLoad(buffer, std::move(indices)));
  if (step.scalar == 0) return operand;
  return ElementwiseExpr({OpKind::kSub, {}}, operand, ConstantOf(dtype, step.scalar));
}

/// Applies the step's operator to `current` and its operand, if it has one.
Result<Expr> ApplyStep(const EpilogueStep& step, const Expr& current, const Expr& operand) {
  std::vector<TensorType> types(operand ? 2 : 1, TensorType{{}, current.dtype()});
  auto type = InferType(step.op, types);
  if (!type.ok()) return type.status().WithContext("epilogue");
  if (!operand) return ElementwiseExpr(step.op, current, {});
  return step.operand_first ? ElementwiseExpr(step.op, operand, current)
                            : ElementwiseExpr(step.op, current, operand);
}

}  // namespace

DataType SumType(const Workload& workload) {
  return workload.out_dtype.is_half() ? kFloat32 : workload.out_dtype;
}

Result<ComputeOp> EpilogueStage(const Epilogue& epilogue, Expr value, DataType type,
                                std::vector<Axis> axes, const LinearIndex& channel,
                                std::vector<Buffer>& inputs) {
  std::vector<StepValue> values{{std::move(value), type}};
  for (const EpilogueStep& step : epilogue.steps) {
    StepValue next = values.back();
    const bool casts = step.op.kind == OpKind::kCast || step.op.kind == OpKind::kSaturateCast;
    if (casts && step.op.attributes.dtype) {
      next.value = MakeCast(std::exchange(next.type, *step.op.attributes.dtype), next.value);
    } else if (next.value.dtype().is_half()) {
      next.value = MakeCast(kFloat32, next.value);
    }
    TW_ASSIGN_OR_RETURN(auto operand,
                        OperandExpr(step, values, next.value.dtype(), axes, channel, inputs));
    TW_ASSIGN_OR_RETURN(next.value, ApplyStep(step, next.value, operand));
    values.push_back(std::move(next));
  }
  const auto& [result, result_type] = values.back();
  return PlainStage("output", result_type, std::move(axes), MakeCast(result_type, result));
}

}  // namespace tilewright
