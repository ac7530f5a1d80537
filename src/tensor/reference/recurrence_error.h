#pragma once

#include <span>

#include "src/tensor/recurrence.h"
#include "src/tensor/reference/error_bound.h"

namespace tilewright::reference {

/// Returns the error bound of each step of a recurrence: the error of its own operators if the
/// states before it are correct, and the error that earlier steps pass on. The latter is not added
/// up in the worst case, which grows beyond use, but measured: a second run moves the states at
/// each step by their error, and the bound is twice the largest distance from it along the last
/// dimension. value: the operator's result. Errors: those of Evaluate.
Result<Tensor> RecurrenceErrorBound(const Operator& op,
                                    std::span<const BoundedTensor* const> inputs,
                                    const Tensor& value, int threads);

/// Cuts off bounds of a recurrence that would accept wrong results: at a hundredth of the root mean
/// square of the values along the last dimension (a twentieth if the steps round floats to
/// integers), or Compare's general tolerance. Returns true if it cut a bound.
bool ClampRecurrenceBounds(const Recurrence& recurrence, const Tensor& value, Tensor& error);

}  // namespace tilewright::reference
