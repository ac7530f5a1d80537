#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/ir/expr.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"
#include "src/tensor/work.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// The one element of a constant that becomes part of the code.
struct ScalarConstant {
  double number = 0;         ///< of floats
  std::int64_t integer = 0;  ///< of integers: a double does not hold all of 64 bits
  friend bool operator==(const ScalarConstant&, const ScalarConstant&) = default;
};
/// The first element.
ScalarConstant ScalarOf(const Tensor& tensor);
/// The constant in an expression.
Expr LiteralOf(DataType dtype, const ScalarConstant& scalar);

/// A value of a list: a parameter, a scalar, or what an operator makes of earlier values.
struct OperatorListValue {
  TensorType type;
  std::optional<Operator> op;
  std::vector<int> operands;  ///< numbers of the values that `op` is applied to
  std::optional<ScalarConstant> scalar;
  bool is_parameter() const { return !op && !scalar; }
  friend bool operator==(const OperatorListValue&, const OperatorListValue&) = default;
};

/// A scalar as a tensor of one element.
Tensor ScalarTensor(const OperatorListValue& value);

/// What a kernel computes, as operators on values: each is made once, by its number, of those with
/// smaller ones. The last value is the result. Its meaning follows from its operators' alone, as
/// loops (DefineList), as a reference result (EvaluateList) and as work (WorkOf).
class OperatorList {
 public:
  /// Numbers of the new values.
  int AddParameter(TensorType type);
  int AddScalar(TensorType type, ScalarConstant value);
  /// Errors: kInvalidArgument if an operand is no value yet; those of InferType.
  Result<int> AddOperator(Operator op, std::vector<int> operands);

  const std::vector<OperatorListValue>& values() const { return values_; }
  const TensorType& TypeOf(int value) const {
    return values_[static_cast<std::size_t>(value)].type;
  }
  const TensorType& result() const { return values_.back().type; }
  /// Numbers of the parameters, in the order of the kernel's.
  std::vector<int> parameters() const;
  friend bool operator==(const OperatorList&, const OperatorList&) = default;

 private:
  std::vector<OperatorListValue> values_;
};

/// What a workload with its epilogue means: parameters data, weight if there is one, and one for
/// each operand of a step that has a tensor, in order; those per channel as vectors of the output's
/// channels, whole blocks of them.
/// Errors: those of the workload's types and layouts; kInvalidArgument if a step does not take the
/// type of what comes before it.
Result<OperatorList> OperatorListOf(const Workload& workload, const Epilogue& epilogue);

/// What its operators do, and the bytes of parameters and result.
Work WorkOf(const OperatorList& list);

}  // namespace tilewright
