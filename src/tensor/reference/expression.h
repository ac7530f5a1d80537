#pragma once

#include <span>

#include "src/tensor/expression/expression.h"
#include "src/tensor/reference/error_bound.h"

namespace tilewright {

/// Executions of bodies that EvaluateExpression takes on, at most: about ten minutes.
inline constexpr double kMaxIterations = 0x1p+36;

/// What an expression computes of these inputs, and how far a right result may be from it: what
/// arithmetic in the types of the expression, in any order of sums, can make of it. Floats are
/// computed in double, integers exactly; nothing is shared with lowering.
/// inputs: in the expression's order. threads: at most this many are used.
/// Errors: kInvalidArgument if they are of other types; kUnsupported for more work than
/// kMaxIterations.
Result<BoundedTensor> EvaluateExpression(const Expression& expression,
                                         std::span<const Tensor* const> inputs, int threads = 1);

}  // namespace tilewright
