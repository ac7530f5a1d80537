#pragma once

#include <span>

#include "src/base/status.h"
#include "src/tensor/operator.h"

namespace tilewright {

// Types of results by family, for the rows of the operator table (defined in infer_type.cc).
// Errors: kInvalidArgument naming the operator, the input and the expectation.
using InputTypes = std::span<const TensorType>;

Result<TensorType> TypeOfAnchor(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfUnary(const Operator& op, InputTypes inputs);          ///< any type
Result<TensorType> TypeOfFloatFunction(const Operator& op, InputTypes inputs);  ///< floats only
Result<TensorType> TypeOfClip(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfCast(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfFixedPointMultiply(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfBinary(const Operator& op, InputTypes inputs);       ///< any type
Result<TensorType> TypeOfFloatBinary(const Operator& op, InputTypes inputs);  ///< floats only
Result<TensorType> TypeOfShift(const Operator& op, InputTypes inputs);        ///< integers only
Result<TensorType> TypeOfComparison(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfWhere(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfPool(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfReduction(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfSoftmax(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfLrn(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfBatchNorm(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfReshape(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfTranspose(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfBroadcastTo(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfConcat(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfSlice(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfPad(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfLayoutTransform(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfGather(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfRecurrence(const Operator& op, InputTypes inputs);
Result<TensorType> TypeOfExpression(const Operator& op, InputTypes inputs);

}  // namespace tilewright
