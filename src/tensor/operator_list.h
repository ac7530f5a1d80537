#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/tensor/compute/compute.h"
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

/// The list as stages, which follow those of its operators; inputs: the parameters.
/// buffers: gets where each value is, null for a scalar, unless it is null.
/// Errors: those of DefineOperator; kInvalidArgument if the last value is no operator's.
Result<Compute> DefineList(const OperatorList& list, std::vector<Buffer>* buffers = nullptr);

/// inputs: of the parameters. Errors: kInvalidArgument if they are of other types; those of
/// Evaluate.
Result<Tensor> EvaluateList(const OperatorList& list, std::span<const Tensor* const> inputs,
                            int threads = 1);

/// The same for several values, by their numbers; the first error that there is.
Result<std::vector<Tensor>> EvaluateValues(const OperatorList& list,
                                           std::span<const Tensor* const> inputs,
                                           std::span<const int> wanted, int threads = 1);

/// What its operators do, and the bytes of parameters and result.
Work WorkOf(const OperatorList& list);

}  // namespace tilewright
