// Errors of a recurrence's steps: each step's own arithmetic, and the amplification of earlier
// errors, which a run from moved states shows. Where states are rounded to integers, that run also
// rounds to the other side wherever an earlier error can do so.
#include "src/tensor/reference/recurrence_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "src/base/random.h"
#include "src/tensor/recurrence.h"
#include "src/tensor/reference/evaluate_list.h"
#include "src/tensor/reference/reference.h"

namespace tilewright::reference {
namespace {

using BoundedInputs = std::span<const BoundedTensor* const>;

constexpr double kTimesMeasured = 2;
constexpr double kMaxOfRow = 0.01, kMaxOfAll = 1e-4;
// If steps round the states to 8 bits: a few units of their range.
constexpr double kMaxOfRoundedRow = 0.05;

double OwnError(const BoundedTensor& tensor, std::int64_t i) {
  return tensor.exact() ? 0 : tensor.error.At(i);
}

/// Returns the elements along the last dimension of a result of one step, for that or all of them.
std::int64_t RowOf(const Tensor& tensor, bool of_all_steps) {
  const std::size_t rank = tensor.shape().size();
  return rank > (of_all_steps ? 1 : 0) ? tensor.shape().back() : 1;
}

/// Returns the root mean square of the finite elements of a part.
double RmsOf(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  double squares = 0;
  std::int64_t finite = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double value = tensor.At(i);
    if (!std::isfinite(value)) continue;
    squares += value * value;
    ++finite;
  }
  return finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
}

/// Returns the part of the data that a step reads.
BoundedTensor PartOfSteps(const BoundedTensor& data, std::int64_t step, const TensorType& type) {
  const std::int64_t elements = type.elements();
  BoundedTensor part{Tensor(type), Tensor(), data.rounded_once};
  if (!data.exact()) part.error = Tensor(TensorType{type.shape, kFloat64});
  for (std::int64_t i = 0; i < elements; ++i) {
    part.value.Set(i, data.value.At(step * elements + i));
    if (!data.exact()) part.error.Set(i, data.error.At(step * elements + i));
  }
  return part;
}

/// Evaluates the first `count` values of a list. inputs: of the parameters.
Result<std::vector<BoundedTensor>> EvaluateListBounded(const OperatorList& list, std::size_t count,
                                                       BoundedInputs inputs, int threads) {
  std::vector<BoundedTensor> made(list.values().size());
  std::vector<const BoundedTensor*> values;
  std::size_t next = 0;
  for (const OperatorListValue& value : std::span(list.values()).first(count)) {
    BoundedTensor& own = made[values.size()];
    values.push_back(&own);
    if (value.scalar) {
      own.value = ScalarTensor(value);
    } else if (!value.op) {
      values.back() = inputs[next++];
    } else {
      std::vector<const BoundedTensor*> operands;
      for (int operand : value.operands) {
        operands.push_back(values[static_cast<std::size_t>(operand)]);
      }
      TW_ASSIGN_OR_RETURN(own, EvaluateBounded(*value.op, operands, threads));
    }
  }
  return made;
}

/// Whether a value consists of floats rounded to 8-bit integers.
bool IsRounded(const OperatorList& list, const OperatorListValue& value) {
  const bool bytes = value.type.dtype == kUInt8 || value.type.dtype == kInt8;
  return value.op && bytes && value.type.elements() > 1 && value.operands.size() == 1 &&
         list.TypeOf(value.operands[0]).dtype.is_float();
}

/// Returns the number of values up to the last one of rounded floats; 0 if there are none.
std::size_t ValuesUpToRounded(const OperatorList& list) {
  std::size_t count = list.values().size();
  while (count > 0 && !IsRounded(list, list.values()[count - 1])) --count;
  return count;
}

/// Returns `value` with each element moved by its error to either side.
Tensor PerturbedByError(const Tensor& value, const BoundedTensor& bounded, Random& random) {
  Tensor moved = value.Clone();
  for (std::int64_t i = 0; i < moved.elements(); ++i) {
    const double error = OwnError(bounded, i), side = random.Next() % 2 == 0 ? 1 : -1;
    if (std::isfinite(error)) moved.Set(i, moved.At(i) + side * error);
  }
  return moved;
}

/// Returns integers of which each one that can be off is moved by one to either side, within 8
/// bits.
Tensor RoundedOtherwise(const Tensor& value, const BoundedTensor& bounded, Random& random) {
  const bool has_sign = value.dtype().code == TypeCode::kInt;
  const double least = has_sign ? -128 : 0;
  Tensor moved = value.Clone();
  for (std::int64_t i = 0; i < moved.elements(); ++i) {
    if (OwnError(bounded, i) < 1) continue;
    const double side = random.Next() % 2 == 0 ? 1 : -1;
    moved.Set(i, std::clamp(moved.At(i) + side, least, least + 255));
  }
  return moved;
}

/// Evaluates values of a list. Integers whose floats are within their error of a tie are rounded to
/// the other side. before: the first values, with their errors.
Result<std::vector<Tensor>> EvaluateRounded(const OperatorList& list,
                                            std::span<const Tensor* const> inputs,
                                            std::span<const BoundedTensor> before,
                                            std::span<const int> wanted, Random& random,
                                            int threads) {
  std::vector<Tensor> made(list.values().size());
  std::vector<const Tensor*> values;
  std::size_t next = 0;
  for (const OperatorListValue& value : list.values()) {
    const std::size_t number = values.size();
    Tensor& own = made[number];
    values.push_back(&own);
    if (value.scalar) {
      own = ScalarTensor(value);
    } else if (!value.op) {
      values.back() = inputs[next++];
    } else {
      std::vector<const Tensor*> operands;
      for (int operand : value.operands) {
        operands.push_back(values[static_cast<std::size_t>(operand)]);
      }
      TW_ASSIGN_OR_RETURN(own, Evaluate(*value.op, operands, threads));
      if (IsRounded(list, value)) own = RoundedOtherwise(own, before[number], random);
    }
  }
  std::vector<Tensor> results;
  for (int value : wanted) results.push_back(values[static_cast<std::size_t>(value)]->Clone());
  return results;
}

/// Returns the step's own errors, increased by the distance to the moved run.
Tensor WithDistance(const BoundedTensor& made, const Tensor& moved) {
  Tensor error(TensorType{made.value.shape(), kFloat64});
  const std::int64_t row = RowOf(made.value, false);
  for (std::int64_t begin = 0; begin < error.elements(); begin += row) {
    double far = 0;
    for (std::int64_t i = begin; i < begin + row; ++i) {
      const double value = made.value.At(i), distance = std::fabs(moved.At(i) - value);
      if (!std::isfinite(value)) continue;
      far =
          std::max(far, std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance);
    }
    for (std::int64_t i = begin; i < begin + row; ++i) {
      error.Set(i, OwnError(made, i) + kTimesMeasured * far);
    }
  }
  return error;
}

/// A run of the steps, and a second one whose states are moved.
class RecurrenceErrors {
 public:
  RecurrenceErrors(const Recurrence& recurrence, BoundedInputs inputs, int threads)
      : recurrence_(recurrence),
        inputs_(inputs.begin(), inputs.end()),
        threads_(threads),
        sliced_(static_cast<std::size_t>(recurrence.sliced)),
        wanted_(recurrence.next),
        rounded_(ValuesUpToRounded(recurrence.step)) {
    wanted_.push_back(static_cast<int>(recurrence.step.values().size()) - 1);
    for (std::size_t k = 0; k < recurrence.next.size(); ++k) {
      const BoundedTensor& first = *inputs[sliced_ + k];
      states_.push_back({first.value.Clone(), Tensor()});
      moved_.push_back(PerturbedByError(first.value, first, random_));
    }
    state_errors_.resize(states_.size());
  }

  /// Returns the errors of the step's result.
  Result<Tensor> Step(std::int64_t step) {
    const OperatorList& list = recurrence_.step;
    const std::vector<int> parameters = list.parameters();
    std::vector<BoundedTensor> data;
    for (std::size_t k = 0; k < sliced_; ++k) {
      data.push_back(PartOfSteps(*inputs_[k], step, list.TypeOf(parameters[k])));
    }
    std::vector<const BoundedTensor*> operands = inputs_;
    for (std::size_t k = 0; k < sliced_; ++k) operands[k] = &data[k];
    for (std::size_t k = 0; k < states_.size(); ++k) operands[sliced_ + k] = &states_[k];
    TW_ASSIGN_OR_RETURN(auto made,
                        EvaluateListBounded(list, list.values().size(), operands, threads_));
    TW_ASSIGN_OR_RETURN(auto moved, Moved(operands));
    for (std::size_t k = 0; k < states_.size(); ++k) {
      const BoundedTensor& next = made[static_cast<std::size_t>(recurrence_.next[k])];
      state_errors_[k] = WithDistance(next, moved[k]);
      moved_[k] = PerturbedByError(moved[k], next, random_);
      states_[k].value = next.value.Clone();
    }
    return WithDistance(made.back(), moved.back());
  }

  /// Returns the errors of the states after the last step.
  const std::vector<Tensor>& state_errors() const { return state_errors_; }

 private:
  /// Returns the wanted values of the step in the second run.
  Result<std::vector<Tensor>> Moved(std::vector<const BoundedTensor*> operands) {
    const OperatorList& list = recurrence_.step;
    std::vector<const Tensor*> values;
    for (const BoundedTensor* operand : operands) values.push_back(&operand->value);
    for (std::size_t k = 0; k < moved_.size(); ++k) values[sliced_ + k] = &moved_[k];
    if (rounded_ == 0) return EvaluateValues(list, values, wanted_, threads_);
    std::vector<BoundedTensor> states(states_.size());
    for (std::size_t k = 0; k < states.size(); ++k) {
      states[k].value = states_[k].value.Clone();
      if (state_errors_[k].data() != nullptr) states[k].error = state_errors_[k].Clone();
      operands[sliced_ + k] = &states[k];
    }
    TW_ASSIGN_OR_RETURN(auto before, EvaluateListBounded(list, rounded_, operands, threads_));
    return EvaluateRounded(list, values, before, wanted_, random_, threads_);
  }

  const Recurrence& recurrence_;
  std::vector<const BoundedTensor*> inputs_;
  int threads_;
  std::size_t sliced_;
  std::vector<int> wanted_;
  std::size_t rounded_;  // first values of the step, up to the last rounded one
  Random random_{1};
  std::vector<BoundedTensor> states_;  // taken to be exact
  std::vector<Tensor> moved_, state_errors_;
};

}  // namespace

Result<Tensor> RecurrenceErrorBound(const Operator& op, BoundedInputs inputs, const Tensor& value,
                                    int threads) {
  const Recurrence& recurrence = *op.attributes.recurrence;
  const std::int64_t steps = inputs[0]->value.shape()[0];
  Tensor error(TensorType{value.shape(), kFloat64});
  const auto write = [&](std::int64_t row, const Tensor& from) {
    for (std::int64_t i = 0; i < from.elements(); ++i) {
      error.Set(row * from.elements() + i, from.At(i));
    }
  };
  RecurrenceErrors errors(recurrence, inputs, threads);
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t step = recurrence.backwards ? steps - 1 - i : i;
    TW_ASSIGN_OR_RETURN(auto of_step, errors.Step(step));
    const bool with_states = recurrence.results == StepResults::kWithStates;
    std::int64_t row = step;
    if (with_states) row *= 1 + std::ssize(recurrence.next);
    write(row, of_step);
    const bool last = i + 1 == steps && recurrence.results == StepResults::kThenLastStates;
    if (last) row = steps - 1;
    if (!last && !with_states) continue;
    for (const Tensor& of_state : errors.state_errors()) write(++row, of_state);
  }
  return error;
}

bool ClampRecurrenceBounds(const Recurrence& recurrence, const Tensor& value, Tensor& error) {
  const double of_row = ValuesUpToRounded(recurrence.step) > 0 ? kMaxOfRoundedRow : kMaxOfRow;
  const double of_all = kMaxOfAll * RmsOf(value, 0, value.elements());
  const std::int64_t row = RowOf(value, true);
  bool clamped = false;
  for (std::int64_t begin = 0; begin < value.elements(); begin += row) {
    const double most = std::max(of_all, of_row * RmsOf(value, begin, begin + row));
    for (std::int64_t i = begin; i < begin + row; ++i) {
      if (error.At(i) <= most) continue;  // false for NaN, which is cut off
      error.Set(i, most);
      clamped = true;
    }
  }
  return clamped;
}

}  // namespace tilewright::reference
