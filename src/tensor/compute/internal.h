#pragma once

#include <span>

#include "src/tensor/compute/compute.h"
#include "src/tensor/compute/linear_index.h"

namespace tilewright {

// Definitions by family of operator, for DefineOperator. Inputs have been type-checked and `type`
// is the result's type; `compute` has its input buffers and gets its stages.
void DefineElementwise(const Operator& op, const TensorType& type, Compute& compute);
Status DefinePool(const Operator& op, const TensorType& input, const TensorType& type,
                  Compute& compute);
void DefineReduce(const Operator& op, const TensorType& type, Compute& compute);
void DefineSoftmax(const Operator& op, const TensorType& type, Compute& compute);
void DefineLrn(const Operator& op, const TensorType& type, Compute& compute);
void DefineBatchNorm(const Operator& op, const TensorType& type, Compute& compute);
void DefineChoice(const Operator& op, const TensorType& type, Compute& compute);
Status DefineDataMovement(const Operator& op, const TensorType& type, Compute& compute);

/// Type in which the products of an anchor are made and summed: float32 for float16.
DataType SumType(const Workload& workload);
/// The stage "output" of an anchor: the value, which has this type for those who read it, after the
/// steps, over these axes. What is float16 is computed in float32 and rounded at the end.
/// `channel`: index into channel operands. The steps' operands are appended to `inputs`. Errors:
/// kInvalidArgument if a step does not take the type of what comes before it.
Result<ComputeOp> EpilogueStage(const Epilogue& epilogue, Expr value, DataType type,
                                std::vector<Axis> axes, const LinearIndex& channel,
                                std::vector<Buffer>& inputs);

/// A stage without reduction.
ComputeOp PlainStage(std::string name, DataType dtype, std::vector<Axis> axes, Expr body);
/// A stage that reduces; the output's type is the body's.
ComputeOp ReductionStage(std::string name, std::vector<Axis> axes, std::vector<Axis> reduce_axes,
                         Combiner combiner, Expr body);
/// Makes float sums of more than 256 elements sums of partial sums, of at most 256 each.
void SumInBlocks(Compute& compute);
/// Position of a possibly negative axis that is known to be in range.
std::size_t AxisPosition(std::int64_t axis, std::size_t rank);

}  // namespace tilewright
