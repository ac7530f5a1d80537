#pragma once

#include <span>
#include <vector>

#include "src/tensor/operator_list.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Evaluates a list. inputs: of the parameters. Errors: kInvalidArgument if they have other types;
/// those of Evaluate.
Result<Tensor> EvaluateList(const OperatorList& list, std::span<const Tensor* const> inputs,
                            int threads = 1);

/// Evaluates several values of a list, by their numbers. Errors: the first one.
Result<std::vector<Tensor>> EvaluateValues(const OperatorList& list,
                                           std::span<const Tensor* const> inputs,
                                           std::span<const int> wanted, int threads = 1);

}  // namespace tilewright
