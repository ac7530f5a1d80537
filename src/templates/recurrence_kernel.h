#pragma once

#include <cstdint>
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
/// Errors: those of the types, and of lowering.
Result<RecurrenceKernel> BuildRecurrenceKernel(const Operator& op,
                                               std::span<const TensorType> inputs,
                                               const Target& target);

}  // namespace tilewright
