#pragma once

#include "src/base/status.h"
#include "src/schedule/intrinsics.h"
#include "src/tensor/compute.h"

namespace tilewright {

/// Takes the zero padding out of a product: every factor `select(inside, value, 0)` becomes `value`
/// and the conjuncts of `inside` are appended to *conditions (unless they load from a buffer).
/// What is left is the product where all conditions hold; where one does not, the product is zero.
Expr StripZeroTaps(const Expr& product, std::vector<Expr>* conditions);

/// The conjuncts of a condition, in order.
void AppendConjuncts(const Expr& condition, std::vector<Expr>* conjuncts);

struct DotOperands {
  Expr a, b;  ///< loads (zero padding taken out)
};
/// The two loads whose products the stage sums, in the intrinsic's order.
/// Errors: kInvalidArgument with what does not fit (combiner, shape of the body, types).
Result<DotOperands> MatchDot(const ComputeOp& op, const DotIntrinsic& intrinsic);

}  // namespace tilewright
