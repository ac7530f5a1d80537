#pragma once

#include <span>

#include "src/tensor/compute/compute.h"
#include "src/tensor/compute/linear_index.h"

namespace tilewright {

// Definitions by family of operator, for the rows of the operator table. Inputs have been
// type-checked and `type` is the result's type; `compute` has its input buffers and gets its
// stages.
Status DefineElementwise(const Operator& op, const TensorType& type, Compute& compute);
Status DefinePool(const Operator& op, const TensorType& type, Compute& compute);
Status DefineSoftmax(const Operator& op, const TensorType& type, Compute& compute);
Status DefineLrn(const Operator& op, const TensorType& type, Compute& compute);
Status DefineBatchNorm(const Operator& op, const TensorType& type, Compute& compute);
Status DefineEqual(const Operator& op, const TensorType& type, Compute& compute);
Status DefineLess(const Operator& op, const TensorType& type, Compute& compute);
Status DefineWhere(const Operator& op, const TensorType& type, Compute& compute);
Status DefineReshape(const Operator& op, const TensorType& type, Compute& compute);
Status DefineTranspose(const Operator& op, const TensorType& type, Compute& compute);
Status DefineBroadcastTo(const Operator& op, const TensorType& type, Compute& compute);
Status DefineConcat(const Operator& op, const TensorType& type, Compute& compute);
Status DefineSlice(const Operator& op, const TensorType& type, Compute& compute);
Status DefinePad(const Operator& op, const TensorType& type, Compute& compute);
Status DefineLayoutTransform(const Operator& op, const TensorType& type, Compute& compute);
Status DefineGather(const Operator& op, const TensorType& type, Compute& compute);
Status DefineIdentity(const Operator& op, const TensorType& type, Compute& compute);

/// What the elements of a reduction go through on their way to the result.
struct Reduction {
  Combiner combiner = Combiner::kSum;
  Expr (*before)(const Expr& element) = nullptr;  ///< each element, in the type of the sum
  bool mean = false;                              ///< divided by their number at the end
  Expr (*after)(const Expr& result) = nullptr;    ///< what was combined, in the type of the sum
};
/// Sums of integers narrower than 32 bits are made in int32.
Status DefineReduction(const Operator& op, const TensorType& type, Compute& compute,
                       const Reduction& reduction);

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
/// Position of a possibly negative axis that is known to be in range.
std::size_t AxisPosition(std::int64_t axis, std::size_t rank);

}  // namespace tilewright
