#include "src/tensor/compute/compute.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/ir/visit.h"
#include "src/tensor/compute/define_list.h"
#include "src/tensor/compute/internal.h"
#include "src/tensor/operator_table.h"

namespace tilewright {

ComputeOp PlainStage(std::string name, DataType dtype, std::vector<Axis> axes, Expr body) {
  std::vector<std::int64_t> shape;
  for (const Axis& axis : axes) shape.push_back(axis.extent);
  ComputeOp stage;
  stage.output = MakeBuffer(name, dtype, std::move(shape));
  stage.name = std::move(name);
  stage.axes = std::move(axes);
  stage.body = std::move(body);
  return stage;
}

ComputeOp ReductionStage(std::string name, std::vector<Axis> axes, std::vector<Axis> reduce_axes,
                         Combiner combiner, Expr body) {
  const DataType dtype = body.dtype();
  ComputeOp stage = PlainStage(std::move(name), dtype, std::move(axes), std::move(body));
  stage.reduce_axes = std::move(reduce_axes);
  stage.combiner = combiner;
  return stage;
}

std::size_t AxisPosition(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

namespace {

/// Returns true if the operator sums values: in float16 that would lose digits that the reference
/// keeps.
bool AddsUp(OpKind kind) {
  const OpFamily family = FamilyOf(kind);
  return family == OpFamily::kPool || family == OpFamily::kReduction ||
         family == OpFamily::kNormalization;
}

/// Returns a computation of float32 inputs as one of inputs of these types, rounded once to
/// `result`.
Compute Narrowed(Compute wide, std::span<const TensorType> inputs, DataType result) {
  Compute compute;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    compute.inputs.push_back(MakeBuffer(wide.inputs[i]->name, inputs[i].dtype, inputs[i].shape));
  }
  const auto narrow = [&](const Expr& node) {
    if (node->kind != ExprKind::kLoad) return Expr();
    const auto found = std::ranges::find(wide.inputs, node->buffer);
    if (found == wide.inputs.end()) return Expr();
    const auto input = static_cast<std::size_t>(found - wide.inputs.begin());
    return MakeCast(node.dtype(), MakeLoad(compute.inputs[input], node->args));
  };
  for (ComputeOp& stage : wide.stages) stage.body = Rewrite(stage.body, narrow);
  ComputeOp& last = wide.stages.back();
  if (last.combiner == Combiner::kNone) {
    last.body = MakeCast(result, last.body);
    last.output = MakeBuffer(last.output->name, result, last.output->shape);
  } else {
    std::vector<Axis> axes = MakeAxes("i", last.output->shape);
    Expr value = MakeCast(result, MakeLoad(last.output, VarsOf(axes)));
    wide.stages.push_back(PlainStage("rounded", result, std::move(axes), std::move(value)));
  }
  compute.stages = std::move(wide.stages);
  return compute;
}

/// blocks: whether to split long sums into partial sums.
Result<Compute> DefineIn(const Operator& op, std::span<const TensorType> inputs, bool blocks) {
  if (IsAnchor(op.kind)) {
    if (inputs.size() != 2) {
      return InvalidArgument(
          fmt::format("{}: {} inputs, expected 2", OpName(op.kind), inputs.size()));
    }
    TW_ASSIGN_OR_RETURN(auto workload, Workload::FromOperator(op, inputs[0], inputs[1]));
    return DefineAnchor(workload, {});
  }
  TW_ASSIGN_OR_RETURN(auto type, InferType(op, inputs));
  if (AddsUp(op.kind) && type.dtype.is_half()) {
    std::vector<TensorType> wide(inputs.begin(), inputs.end());
    for (TensorType& input : wide) input.dtype = kFloat32;
    TW_ASSIGN_OR_RETURN(auto compute, DefineIn(op, wide, blocks));
    return Narrowed(std::move(compute), inputs, type.dtype);
  }
  Compute compute;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    compute.inputs.push_back(
        MakeBuffer(fmt::format("input{}", i), inputs[i].dtype, inputs[i].shape));
  }
  const OperatorRow& row = RowOf(op.kind);
  if (row.element != nullptr) {
    TW_RETURN_IF_ERROR(DefineElementwise(op, type, compute));
    return compute;
  }
  TW_RETURN_IF_ERROR(row.loops(op, type, compute));
  if (blocks) SplitLongReductions(compute);
  return compute;
}

}  // namespace

Result<Compute> DefineOperator(const Operator& op, std::span<const TensorType> inputs) {
  return DefineIn(op, inputs, /*blocks=*/true);
}

Result<Compute> DefineUnsplitOperator(const Operator& op, std::span<const TensorType> inputs) {
  return DefineIn(op, inputs, /*blocks=*/false);
}

}  // namespace tilewright
