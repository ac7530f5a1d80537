#pragma once

#include <cstdint>
#include <span>

#include "src/tensor/operator.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// What one run does, whatever its schedule.
struct Work {
  double operations = 0;   ///< of arithmetic: a multiply-add is two, a function or comparison one
  std::int64_t bytes = 0;  ///< of the operands and the result, each once
};

/// result: the type that InferType gives. Moving data is no operation.
Work WorkOf(const Operator& op, std::span<const TensorType> inputs, const TensorType& result);
/// Without an epilogue. Zero if the workload is none that Parse takes.
Work WorkOf(const Workload& workload);

}  // namespace tilewright
