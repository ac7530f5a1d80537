#pragma once

#include <span>
#include <vector>

#include "src/tensor/compute/compute.h"
#include "src/tensor/operator_list.h"

namespace tilewright {

/// Returns the list as stages, in the order of its operators; inputs: the parameters. buffers:
/// unless null, gets the buffer of each value, null for a scalar.
/// Errors: those of DefineOperator; kInvalidArgument if the last value is no operator's.
Result<Compute> DefineList(const OperatorList& list, std::vector<Buffer>* buffers = nullptr);

/// As DefineOperator, without splitting long sums into partial sums.
Result<Compute> DefineUnsplitOperator(const Operator& op, std::span<const TensorType> inputs);
/// As DefineList, with DefineUnsplitOperator.
Result<Compute> DefineUnsplitList(const OperatorList& list);

}  // namespace tilewright
