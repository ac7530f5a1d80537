#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/ir/stmt.h"
#include "src/target/target.h"
#include "src/tensor/operator.h"

namespace tilewright {

/// Kernel of a recurrence, and the layouts of its inputs.
struct RecurrenceKernel {
  Program program;
  /// Layout of each input: that of a packed weight ("NK64n") whose logical layout is NK; empty for
  /// an input that is not packed.
  std::vector<std::string> layouts;
  std::int64_t macs = 0;  ///< multiply-adds of all time steps
};

/// Generates machine code for a loop over the time steps: products with packed weights, the state
/// in register tiles, then the functions of the gates as vectors.
/// most_steps: if not none, the number of steps is the first parameter of the program, from 1 to
/// this, instead of that of `inputs`. Errors: those of the types, and of lowering; kUnsupported for
/// an open number of steps with the last states behind the results.
Result<RecurrenceKernel> BuildRecurrenceKernel(
    const Operator& op, std::span<const TensorType> inputs, const Target& target,
    std::optional<std::int64_t> most_steps = std::nullopt);

}  // namespace tilewright
