#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/ir/stmt.h"
#include "src/target/target.h"
#include "src/tensor/operator.h"

namespace tilewright {

/// The kernel of a recurrence, and how it takes its inputs.
struct RecurrenceKernel {
  Program program;
  /// By input: the layout in which it is read ("NK64n"), of a weight whose own is NK; empty for one
  /// that is read as it is.
  std::vector<std::string> layouts;
  std::int64_t macs = 0;  ///< multiply-adds of all steps
};

/// A loop over the steps as machine code: products with the state in register tiles, from packed
/// weights, and behind them the functions of the gates as vectors.
/// Errors: those of the types, and of lowering.
Result<RecurrenceKernel> BuildRecurrenceKernel(const Operator& op,
                                               std::span<const TensorType> inputs,
                                               const Target& target);

}  // namespace tilewright
