#pragma once

#include <span>

#include "src/tensor/expression/expression.h"
#include "src/tensor/reference/error_bound.h"

namespace tilewright {

/// Limit of body executions of EvaluateExpression: about ten minutes.
inline constexpr double kMaxIterations = 0x1p+36;

/// Evaluates an expression with error bounds: of arithmetic in the types of the expression, with
/// any order of sums. Floats are computed in double, integers exactly; no code is shared with
/// lowering.
/// inputs: in the expression's order. threads: maximum number of threads.
/// Errors: kInvalidArgument if they have other types; kUnsupported for more work than
/// kMaxIterations.
Result<BoundedTensor> EvaluateExpression(const Expression& expression,
                                         std::span<const Tensor* const> inputs, int threads = 1);

}  // namespace tilewright
