#pragma once

#include "src/tensor/compute/compute.h"
#include "src/tensor/expression/expression.h"
#include "src/tensor/operator_list.h"

namespace tilewright {

/// The stages of a definition as an expression, inputs in their order.
/// Errors: kUnsupported for what expressions do not have (high halves of products, quotients of
/// integers rounded to zero, arithmetic in float16), or a read that cannot be shown to be inside.
Result<Expression> ExpressionOf(const Compute& compute);

/// What a list of operators computes, inputs in the order of its parameters: the expression itself
/// if it is one. Errors: those of ExpressionOf and DefineList.
Result<Expression> ExpressionOf(const OperatorList& list);

}  // namespace tilewright
