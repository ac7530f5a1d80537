#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/tensor/operator_list.h"

namespace tilewright {

/// What each step of a recurrence computes, from its part of the data and from the states that the
/// step before it left.
struct Recurrence {
  /// Parameters: data of the step, the states before it, and what all steps read, in this order.
  /// The last value is the step's result.
  OperatorList step;
  std::vector<int> next;   ///< values of `step` that are the states behind it, of the result's type
  int sliced = 1;          ///< parameters that are data of the step
  bool backwards = false;  ///< the last data come first
  friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

/// inputs: the data of all steps (a dimension in front of the step's), the first states, and what
/// all steps read. Result: those of all steps, in the order of the data, and behind them the last
/// states.
Operator RecurrenceOperator(Recurrence recurrence);
/// By the types of a recurrence's inputs.
inline std::int64_t StepsOf(std::span<const TensorType> inputs) { return inputs[0].shape[0]; }

/// Most steps that are written out, each a dozen operators.
inline constexpr std::int64_t kMaxUnrolledSteps = 1024;
/// The same as operators one after the other; parameters: the inputs.
/// Errors: kUnsupported for more than kMaxUnrolledSteps.
Result<OperatorList> UnrolledList(const Operator& op, std::span<const TensorType> inputs);

}  // namespace tilewright
