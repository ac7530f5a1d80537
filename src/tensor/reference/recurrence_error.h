#pragma once

#include <span>

#include "src/tensor/reference/error_bound.h"

namespace tilewright::reference {

/// Of each step of a recurrence: what its own operators may be off by where the states before it
/// are right, and what the steps before it left. That is not added up in the worst case, which
/// grows until it says nothing, but measured: a second run, whose states are moved at each step by
/// what they may be off by, and twice the largest distance from it along the last dimension.
/// value: the operator's result. Errors: those of Evaluate.
Result<Tensor> RecurrenceErrorBound(const Operator& op,
                                    std::span<const BoundedTensor* const> inputs,
                                    const Tensor& value, int threads);

/// Cuts the bounds of a recurrence off where they would let through what is wrong: at a hundredth
/// of the root mean square of the values along the last dimension, or what Compare allows all.
/// Returns whether there was such a bound.
bool ClampRecurrenceBounds(const Tensor& value, Tensor& error);

}  // namespace tilewright::reference
