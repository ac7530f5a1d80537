#pragma once

#include <optional>
#include <string_view>

#include "src/base/status.h"
#include "src/schedule/intrinsics.h"
#include "src/tensor/compute/compute.h"

namespace tilewright {

/// Removes the zero padding from a product: replaces every factor `select(inside, value, 0)` by
/// `value` and appends the conjuncts of `inside` to *conditions (unless they load from a buffer).
/// The returned product is valid if all conditions hold; otherwise the product is zero.
Expr StripZeroTaps(const Expr& product, std::vector<Expr>* conditions);
/// The same for the operand of a stage's reduction: for a maximum, `select(inside, value, minimum
/// of the type)`.
Expr StripPaddedTaps(const ComputeOp& op, std::vector<Expr>* conditions);

/// Returns the identity element of a reduction: 0, 1, or the end of the type's range (infinity for
/// floats).
Expr IdentityElementOf(Combiner combiner, DataType dtype);

/// Appends the conjuncts of a condition, in order.
void AppendConjuncts(const Expr& condition, std::vector<Expr>* conjuncts);

struct DotOperands {
  Expr a, b;  ///< loads (without zero padding)
};
/// Types of the factors and the sum of an intrinsic.
struct ProductTypes {
  DataType a, b, acc;
};
/// Returns the types of the dot product or matrix product of that name; nullopt if there is none.
std::optional<ProductTypes> TypesOfIntrinsic(std::string_view name);

/// Returns the two loads whose products the stage sums, direct or converted to types that represent
/// all their values. If their types differ, in the order of `types`.
/// Errors: kInvalidArgument with the mismatch (combiner, shape of the body, types).
Result<DotOperands> MatchProducts(const ComputeOp& op, const ProductTypes& types);

}  // namespace tilewright
