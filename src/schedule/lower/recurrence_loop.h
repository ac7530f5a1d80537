#pragma once

#include <cstdint>
#include <vector>

#include "src/ir/stmt.h"

namespace tilewright {

/// Attribute of a loop over weights that may go either way: every other step goes from the end.
inline constexpr const char* kAlternatingLoop = "turning";

/// What the parameters of a program are that is one of many steps: first the data of the step, then
/// the states that the step before it left, then what all steps read, and last the step's result.
struct RecurrenceLoop {
  std::int64_t steps = 1;
  bool backwards = false;  ///< the last data come first
  std::size_t sliced = 1;  ///< parameters that are data of the step
  /// Memory of the program that holds the states behind the step: its result, or what it allocates
  /// around everything else.
  std::vector<Buffer> next;
};

/// The program that executes `step` once for each step, one after the other. Its parameters are
/// those of `step`, data and result with a dimension in front, and the states are the first ones;
/// the last states follow the results.
Program EmitRecurrenceLoop(const Program& step, const RecurrenceLoop& loop);

}  // namespace tilewright
