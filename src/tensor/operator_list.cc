#include "src/tensor/operator_list.h"

#include <fmt/format.h>

#include <utility>

namespace tilewright {
namespace {

std::vector<TensorType> OperandTypes(const OperatorList& list, const std::vector<int>& operands) {
  std::vector<TensorType> types;
  for (int operand : operands) types.push_back(list.TypeOf(operand));
  return types;
}

}  // namespace

Tensor ScalarTensor(const OperatorListValue& value) {
  Tensor tensor(value.type);
  if (value.type.dtype.is_integer() && value.type.dtype.bits == 64) {
    tensor.As<std::int64_t>()[0] = value.scalar->integer;
  } else {
    const bool integer = value.type.dtype.is_integer();
    tensor.Set(0, integer ? static_cast<double>(value.scalar->integer) : value.scalar->number);
  }
  return tensor;
}

ScalarConstant ScalarOf(const Tensor& tensor) {
  const double number = tensor.At(0);
  if (tensor.dtype().is_integer() && tensor.dtype().bits == 64) {
    return {number, tensor.As<std::int64_t>()[0]};  // the bits, also of unsigned values
  }
  return {number, tensor.dtype().is_integer() ? static_cast<std::int64_t>(number) : 0};
}

Expr LiteralOf(DataType dtype, const ScalarConstant& scalar) {
  return dtype.is_integer() ? MakeInt(dtype, scalar.integer) : MakeConst(dtype, scalar.number);
}

int OperatorList::AddParameter(TensorType type) {
  values_.push_back({std::move(type), {}, {}, {}});
  return static_cast<int>(values_.size()) - 1;
}

int OperatorList::AddScalar(TensorType type, ScalarConstant value) {
  TW_CHECK(type.elements() == 1, type.ToString());
  values_.push_back({std::move(type), {}, {}, value});
  return static_cast<int>(values_.size()) - 1;
}

Result<int> OperatorList::AddOperator(Operator op, std::vector<int> operands) {
  for (int operand : operands) {
    if (operand >= 0 && std::cmp_less(operand, values_.size())) continue;
    return InvalidArgument(fmt::format("{} of %{}, expected one of {} values", OpName(op.kind),
                                       operand, values_.size()));
  }
  TW_ASSIGN_OR_RETURN(auto type, InferType(op, OperandTypes(*this, operands)));
  values_.push_back({std::move(type), std::move(op), std::move(operands), {}});
  return static_cast<int>(values_.size()) - 1;
}

std::vector<int> OperatorList::parameters() const {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].is_parameter()) numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

Work WorkOf(const OperatorList& list) {
  Work work;
  for (const OperatorListValue& value : list.values()) {
    if (value.is_parameter()) work.bytes += value.type.bytes();
    if (!value.op) continue;
    work.operations += WorkOf(*value.op, OperandTypes(list, value.operands), value.type).operations;
  }
  if (!list.values().empty()) work.bytes += list.result().bytes();
  return work;
}

}  // namespace tilewright
