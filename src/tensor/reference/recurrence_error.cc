// Errors of a recurrence's steps: each step's own arithmetic, and the amplification of earlier
// errors, which a run from moved states shows.
#include "src/tensor/reference/recurrence_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "src/base/random.h"
#include "src/tensor/recurrence.h"
#include "src/tensor/reference/evaluate_list.h"

namespace tilewright::reference {
namespace {

using BoundedInputs = std::span<const BoundedTensor* const>;

constexpr double kTimesMeasured = 2;
constexpr double kMaxOfRow = 0.01, kMaxOfAll = 1e-4;

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

/// Evaluates every value of a list. inputs: of the parameters.
Result<std::vector<BoundedTensor>> EvaluateListBounded(const OperatorList& list,
                                                       BoundedInputs inputs, int threads) {
  std::vector<BoundedTensor> made(list.values().size());
  std::vector<const BoundedTensor*> values;
  std::size_t next = 0;
  for (const OperatorListValue& value : list.values()) {
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

/// Returns `value` with each element moved by its error to either side.
Tensor PerturbedByError(const Tensor& value, const BoundedTensor& bounded, Random& random) {
  Tensor moved = value.Clone();
  for (std::int64_t i = 0; i < moved.elements(); ++i) {
    const double error = OwnError(bounded, i), side = random.Next() % 2 == 0 ? 1 : -1;
    if (std::isfinite(error)) moved.Set(i, moved.At(i) + side * error);
  }
  return moved;
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
        wanted_(recurrence.next) {
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
    TW_ASSIGN_OR_RETURN(auto made, EvaluateListBounded(list, operands, threads_));
    std::vector<const Tensor*> values;
    for (const BoundedTensor* operand : operands) values.push_back(&operand->value);
    for (std::size_t k = 0; k < moved_.size(); ++k) values[sliced_ + k] = &moved_[k];
    TW_ASSIGN_OR_RETURN(auto moved, EvaluateValues(list, values, wanted_, threads_));
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
  const Recurrence& recurrence_;
  std::vector<const BoundedTensor*> inputs_;
  int threads_;
  std::size_t sliced_;
  std::vector<int> wanted_;
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
    write(step, of_step);
  }
  std::int64_t row = steps;
  for (const Tensor& of_state : errors.state_errors()) write(row++, of_state);
  return error;
}

bool ClampRecurrenceBounds(const Tensor& value, Tensor& error) {
  const double of_all = kMaxOfAll * RmsOf(value, 0, value.elements());
  const std::int64_t row = RowOf(value, true);
  bool clamped = false;
  for (std::int64_t begin = 0; begin < value.elements(); begin += row) {
    const double most = std::max(of_all, kMaxOfRow * RmsOf(value, begin, begin + row));
    for (std::int64_t i = begin; i < begin + row; ++i) {
      if (error.At(i) <= most) continue;  // false for NaN, which is cut off
      error.Set(i, most);
      clamped = true;
    }
  }
  return clamped;
}

}  // namespace tilewright::reference
