#pragma once

#include "src/tensor/compute/compute.h"
#include "src/tensor/operator_list.h"

namespace tilewright {

/// As DefineOperator, with long sums as they are: not made of partial ones.
Result<Compute> DefineUnsplitOperator(const Operator& op, std::span<const TensorType> inputs);
/// As DefineList, of such definitions.
Result<Compute> DefineUnsplitList(const OperatorList& list);

}  // namespace tilewright
