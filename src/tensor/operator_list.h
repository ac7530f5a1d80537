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

/// Element of a constant that becomes part of the code.
struct ScalarConstant {
  double number = 0;         ///< of floats
  std::int64_t integer = 0;  ///< of integers: a double does not hold all of 64 bits
  friend bool operator==(const ScalarConstant&, const ScalarConstant&) = default;
};
/// Returns the first element.
ScalarConstant ScalarOf(const Tensor& tensor);
/// Returns the constant as an expression.
Expr LiteralOf(DataType dtype, const ScalarConstant& scalar);

/// Value of a list: a parameter, a scalar, or the result of an operator on earlier values.
struct OperatorListValue {
  TensorType type;
  std::optional<Operator> op;
  std::vector<int> operands;  ///< numbers of the values that `op` is applied to
  std::optional<ScalarConstant> scalar;
  bool is_parameter() const { return !op && !scalar; }
  friend bool operator==(const OperatorListValue&, const OperatorListValue&) = default;
};

/// Returns a scalar as a tensor of one element.
Tensor ScalarTensor(const OperatorListValue& value);

/// Computation of a kernel as operators on numbered values. Each value is computed once, from
/// values with smaller numbers; the last one is the result. Loops (DefineList), the reference
/// result (EvaluateList) and the work (WorkOf) follow from the operators alone.
class OperatorList {
 public:
  /// Returns the number of the new value.
  int AddParameter(TensorType type);
  int AddScalar(TensorType type, ScalarConstant value);
  /// Errors: kInvalidArgument if an operand does not exist yet; those of InferType.
  Result<int> AddOperator(Operator op, std::vector<int> operands);

  const std::vector<OperatorListValue>& values() const { return values_; }
  const TensorType& TypeOf(int value) const {
    return values_[static_cast<std::size_t>(value)].type;
  }
  const TensorType& result() const { return values_.back().type; }
  /// Returns the numbers of the parameters, in the order of the kernel's.
  std::vector<int> parameters() const;
  friend bool operator==(const OperatorList&, const OperatorList&) = default;

 private:
  std::vector<OperatorListValue> values_;
};

/// Returns the operators of a workload with its epilogue. Parameters are data, weight if it exists,
/// and one for each tensor operand of a step, in order. Operands per channel are vectors of the
/// output's channels, in whole blocks.
/// Errors: those of the workload's types and layouts; kInvalidArgument if a step does not accept
/// the type of the value before it.
Result<OperatorList> OperatorListOf(const Workload& workload, const Epilogue& epilogue);

/// Returns the operations of its operators, and the bytes of parameters and result.
Work WorkOf(const OperatorList& list);

}  // namespace tilewright
