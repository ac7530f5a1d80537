#pragma once

#include <cstdint>
#include <span>

#include "src/target/target.h"
#include "src/tensor/operator.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Work of one run of an operator, independent of its schedule.
struct Work {
  double operations =
      0;  ///< arithmetic: a multiply-add counts as two, a function or comparison as one
  std::int64_t bytes = 0;  ///< of the operands and the result, each counted once
};

/// Returns the work of an operator. result: from InferType. Data movement has no operations.
Work WorkOf(const Operator& op, std::span<const TensorType> inputs, const TensorType& result);
/// Returns the work of a workload without epilogue. Zero if Parse does not accept the workload.
Work WorkOf(const Workload& workload);

/// Lower bound in seconds of the time of any operator, whatever its work.
inline constexpr double kMinSeconds = 1e-9;
/// Lower bound in seconds of a workload's time on any machine: its operations at a rate that no
/// device of the target's kind reaches, at least kMinSeconds. Depends on the workload and on the
/// target (its device and -num-threads). kMinSeconds if the work of the workload is unknown.
double MinSeconds(const Workload& workload, const Target& target);

}  // namespace tilewright
