// The operator of user expressions: its attribute is the expression.
#include <fmt/format.h>

#include "src/tensor/compute/compute.h"
#include "src/tensor/expression/expression.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/operator_types.h"
#include "src/tensor/reference/expression.h"

namespace tilewright {

Result<TensorType> TypeOfExpression(const Operator& op, InputTypes inputs) {
  const Expression& expression = op.attributes.expression;
  if (expression.empty()) return InvalidArgument("expression: nothing to compute");
  if (inputs.size() != expression.inputs.size()) {
    return InvalidArgument(
        fmt::format("expression: {} inputs, expected {}", inputs.size(), expression.inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& expected = expression.inputs[i].type;
    if (inputs[i] == expected) continue;
    return InvalidArgument(fmt::format("expression: input {} is {}, expected {}", i,
                                       inputs[i].ToString(), expected.ToString()));
  }
  return expression.result();
}

namespace {

Status LoopsOfExpression(const Operator& op, const TensorType&, Compute& compute) {
  compute = DefineExpression(op.attributes.expression);
  return {};
}

void ValuesOfExpression(const Operator& op, std::span<const Tensor* const> inputs, Tensor& out) {
  auto values = EvaluateExpression(op.attributes.expression, inputs);
  TW_CHECK(values.ok(), values.status().message());  // types and work were checked with Evaluate's
  out = std::move(values->value);
}

double OperationsOfExpression(const Operator& op, std::span<const TensorType>, const TensorType&) {
  return op.attributes.expression.operations();
}

constexpr OperatorRow kExpressionRows[] = {
    {.kind = OpKind::kExpression,
     .name = "expression",
     .family = OpFamily::kExpression,
     .description = "what an expression says of any inputs (expressions.md)",
     .relay = "",
     .error = ErrorRule::kExpression,
     .type = &TypeOfExpression,
     .loops = &LoopsOfExpression,
     .values = &ValuesOfExpression,
     .operations = &OperationsOfExpression}};

}  // namespace

std::span<const OperatorRow> ExpressionOperators() { return kExpressionRows; }

}  // namespace tilewright
