#pragma once

#include <cstdint>
#include <vector>

#include "src/ir/stmt.h"
#include "src/tensor/recurrence.h"

namespace tilewright {

/// Attribute of a loop over weights whose direction may alternate: every other step runs backwards.
inline constexpr const char* kAlternatingLoop = "turning";

/// Roles of the parameters of a program that computes one of many steps. Order: data of the step,
/// states of the previous step, data of all steps, result of the step.
struct RecurrenceLoop {
  std::int64_t steps = 1;  ///< the most, if their number is open
  /// The number of steps is the first parameter of the program, one int64 from 1 to `steps`.
  bool open = false;
  StepResults results = StepResults::kThenLastStates;
  bool backwards = false;  ///< runs from the last data to the first
  std::size_t sliced = 1;  ///< parameters that are data of the step
  /// Memory of the program that holds the states after the step: its result, or buffers that it
  /// allocates around all other statements.
  std::vector<Buffer> next;
};

/// Returns the program that executes `step` for all steps in sequence. Its parameters are those of
/// `step`; data and result get a leading dimension, and the state parameters are the initial
/// states. States are in the result as `results` has it. An open number of steps needs
/// results without the last states.
Program EmitRecurrenceLoop(const Program& step, const RecurrenceLoop& loop);

}  // namespace tilewright
