#pragma once

#include <optional>
#include <string_view>

#include "src/base/status.h"
#include "src/schedule/intrinsics.h"
#include "src/tensor/compute/compute.h"

namespace tilewright {

/// Takes the zero padding out of a product: every factor `select(inside, value, 0)` becomes `value`
/// and the conjuncts of `inside` are appended to *conditions (unless they load from a buffer).
/// What is left is the product where all conditions hold; where one does not, the product is zero.
Expr StripZeroTaps(const Expr& product, std::vector<Expr>* conditions);
/// The same for what a stage reduces: of a maximum, `select(inside, value, least value)`.
Expr StripPaddedTaps(const ComputeOp& op, std::vector<Expr>* conditions);

/// What a reduction starts from, and what changes none: 0, 1, or the end of the type's range (of
/// floats the infinity).
Expr IdentityElementOf(Combiner combiner, DataType dtype);

/// The conjuncts of a condition, in order.
void AppendConjuncts(const Expr& condition, std::vector<Expr>* conjuncts);

struct DotOperands {
  Expr a, b;  ///< loads (zero padding taken out)
};
/// The types of factors and sum that an intrinsic takes.
struct ProductTypes {
  DataType a, b, acc;
};
/// Those of the dot product or matrix product of that name. Null if there is none.
std::optional<ProductTypes> TypesOfIntrinsic(std::string_view name);

/// The two loads whose products the stage sums, as they are or converted to types that have all of
/// their values; of different types, in their order.
/// Errors: kInvalidArgument with what does not fit (combiner, shape of the body, types).
Result<DotOperands> MatchProducts(const ComputeOp& op, const ProductTypes& types);

}  // namespace tilewright
