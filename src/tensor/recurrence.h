#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/tensor/operator_list.h"

namespace tilewright {

/// What the result of a recurrence consists of.
enum class StepResults : std::uint8_t {
  kThenLastStates,  ///< the results of all steps, then the last states: [steps + states, …]
  kAlone,           ///< the results of all steps: [steps, …]
  kWithStates,      ///< of each step the result and the states after it: [steps, 1 + states, …]
};

/// Step of a recurrence: computes from its slice of the data and the states of the step before it.
struct Recurrence {
  /// Parameters: data of the step, the states before it, and inputs of all steps, in this order.
  /// The last value is the step's result.
  OperatorList step;
  std::vector<int> next;   ///< values of `step` that are the states after it, of the result's type
  int sliced = 1;          ///< number of parameters that are data of the step
  bool backwards = false;  ///< the last data are processed first
  StepResults results = StepResults::kThenLastStates;
  friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

/// Returns the operator of a recurrence. Its inputs: the data of all steps (with a leading
/// dimension), the first states, and the inputs of all steps. Its result: the results of all steps,
/// in the order of the data, and states as `results` has it.
Operator RecurrenceOperator(Recurrence recurrence);
/// Returns the number of steps for the types of a recurrence's inputs.
inline std::int64_t StepsOf(std::span<const TensorType> inputs) { return inputs[0].shape[0]; }

/// Limit of steps to unroll, each of a dozen operators.
inline constexpr std::int64_t kMaxUnrolledSteps = 1024;
/// Returns the recurrence as consecutive operators. Parameters: the inputs.
/// Errors: kUnsupported for more than kMaxUnrolledSteps.
Result<OperatorList> UnrolledList(const Operator& op, std::span<const TensorType> inputs);

}  // namespace tilewright
