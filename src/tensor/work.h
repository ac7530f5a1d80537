#pragma once

#include <cstdint>
#include <span>

#include "src/target/target.h"
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

/// Lower bound in seconds of the time of any operator, whatever its work.
inline constexpr double kMinSeconds = 1e-9;
/// Lower bound in seconds of a workload's time on any machine: its operations at a rate that no
/// device of the target's kind reaches, at least kMinSeconds. Depends on the workload and on the
/// target (its device and -num-threads). kMinSeconds if the work of the workload is unknown.
double MinSeconds(const Workload& workload, const Target& target);

}  // namespace tilewright
