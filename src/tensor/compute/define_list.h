#pragma once

#include <span>
#include <vector>

#include "src/tensor/compute/compute.h"
#include "src/tensor/operator_list.h"

namespace tilewright {

/// The list as stages, which follow those of its operators; inputs: the parameters.
/// buffers: gets where each value is, null for a scalar, unless it is null.
/// Errors: those of DefineOperator; kInvalidArgument if the last value is no operator's.
Result<Compute> DefineList(const OperatorList& list, std::vector<Buffer>* buffers = nullptr);

/// As DefineOperator, with long sums as they are: not made of partial ones.
Result<Compute> DefineUnsplitOperator(const Operator& op, std::span<const TensorType> inputs);
/// As DefineList, of such definitions.
Result<Compute> DefineUnsplitList(const OperatorList& list);

}  // namespace tilewright
