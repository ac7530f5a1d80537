#pragma once

#include <span>
#include <vector>

#include "src/tensor/operator_list.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// inputs: of the parameters. Errors: kInvalidArgument if they are of other types; those of
/// Evaluate.
Result<Tensor> EvaluateList(const OperatorList& list, std::span<const Tensor* const> inputs,
                            int threads = 1);

/// The same for several values, by their numbers; the first error that there is.
Result<std::vector<Tensor>> EvaluateValues(const OperatorList& list,
                                           std::span<const Tensor* const> inputs,
                                           std::span<const int> wanted, int threads = 1);

}  // namespace tilewright
