#pragma once

#include "src/tensor/compute/compute.h"
#include "src/tensor/expression/expression.h"
#include "src/tensor/operator_list.h"

namespace tilewright {

/// Returns the stages of a definition as an expression, with inputs in their order.
/// Errors: kUnsupported for operations that expressions lack (high halves of products, quotients of
/// integers rounded to zero, arithmetic in float16), or for a read that cannot be proved to be in
/// bounds.
Result<Expression> ExpressionOf(const Compute& compute);

/// Returns the expression of a list of operators, with inputs in the order of its parameters. If
/// the list is one expression, returns that. Errors: those of ExpressionOf and DefineList.
Result<Expression> ExpressionOf(const OperatorList& list);

}  // namespace tilewright
