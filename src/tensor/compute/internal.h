#pragma once

#include <span>

#include "src/tensor/compute/compute.h"
#include "src/tensor/compute/linear_index.h"

namespace tilewright {

// Definitions by family of operator, for the rows of the operator table. The inputs' types are
// valid and `type` is the result's type; `compute` has its input buffers and gets its stages.
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

/// Functions on the elements of a reduction.
struct Reduction {
  Combiner combiner = Combiner::kSum;
  Expr (*before)(const Expr& element) = nullptr;  ///< of each element, in the type of the sum
  bool mean = false;                              ///< the sum is divided by the number of elements
  Expr (*after)(const Expr& result) = nullptr;    ///< of the combined value, in the type of the sum
};
/// Sums of integers narrower than 32 bits use int32.
Status DefineReduction(const Operator& op, const TensorType& type, Compute& compute,
                       const Reduction& reduction);

/// Returns the type of an anchor's products and sums: float32 for float16.
DataType SumType(const Workload& workload);
/// Returns the stage "output" of an anchor: the value after the steps, over these axes. `type`: of
/// the value for its readers. float16 is computed in float32 and rounded at the end. `channel`:
/// index into channel operands. The steps' operands are appended to `inputs`. Errors:
/// kInvalidArgument if a step does not accept the type of the value before it.
Result<ComputeOp> EpilogueStage(const Epilogue& epilogue, Expr value, DataType type,
                                std::vector<Axis> axes, const LinearIndex& channel,
                                std::vector<Buffer>& inputs);

/// Returns an axis with a variable of its own.
inline Axis NewAxis(const char* name, std::int64_t extent, bool reduction = false) {
  return {MakeVar(name), extent, reduction};
}
/// Returns a stage without reduction.
ComputeOp PlainStage(std::string name, DataType dtype, std::vector<Axis> axes, Expr body);
/// Returns a stage with a reduction; the output's type is the body's.
ComputeOp ReductionStage(std::string name, std::vector<Axis> axes, std::vector<Axis> reduce_axes,
                         Combiner combiner, Expr body);
/// Returns the position of a possibly negative axis that is known to be in range.
std::size_t AxisPosition(std::int64_t axis, std::size_t rank);

}  // namespace tilewright
