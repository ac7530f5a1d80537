#include "src/tensor/recurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright {
namespace {

/// Adds the steps one after the other.
class Unroller {
 public:
  Unroller(const Recurrence& recurrence, std::span<const TensorType> inputs, std::int64_t steps)
      : recurrence_(recurrence), steps_(steps) {
    for (const TensorType& type : inputs) inputs_.push_back(list_.AddParameter(type));
  }

  Result<OperatorList> Run() {
    const auto sliced = inputs_.begin() + recurrence_.sliced;
    const auto states = static_cast<std::ptrdiff_t>(recurrence_.next.size());
    states_.assign(sliced, sliced + states);
    results_.resize(static_cast<std::size_t>(steps_));
    for (std::int64_t i = 0; i < steps_; ++i) {
      TW_RETURN_IF_ERROR(AddStep(recurrence_.backwards ? steps_ - 1 - i : i));
    }
    std::vector<int> rows;
    const bool with_states = recurrence_.results == StepResults::kWithStates;
    if (recurrence_.results == StepResults::kThenLastStates) {
      results_.insert(results_.end(), states_.begin(), states_.end());
    }
    for (int result : results_) {
      std::vector<std::int64_t> shape = list_.TypeOf(result).shape;
      if (!with_states) shape.insert(shape.begin(), 1);
      TW_ASSIGN_OR_RETURN(auto row, Reshape(result, std::move(shape)));
      rows.push_back(row);
    }
    TW_RETURN_IF_ERROR(Join(std::move(rows)));
    return std::move(list_);
  }

 private:
  Result<int> Reshape(int value, std::vector<std::int64_t> shape) {
    Operator reshape{OpKind::kReshape, {}};
    reshape.attributes.new_shape = std::move(shape);
    return list_.AddOperator(std::move(reshape), {value});
  }

  /// Returns the data of one step.
  Result<int> Part(int data, std::int64_t step) {
    std::vector<std::int64_t> shape = list_.TypeOf(data).shape;
    Operator slice{OpKind::kSlice, {}};
    slice.attributes.begin.assign(shape.size(), 0);
    slice.attributes.end = shape;
    slice.attributes.steps.assign(shape.size(), 1);
    slice.attributes.begin[0] = step;
    slice.attributes.end[0] = step + 1;
    TW_ASSIGN_OR_RETURN(auto part, list_.AddOperator(std::move(slice), {data}));
    shape.erase(shape.begin());
    return Reshape(part, std::move(shape));
  }

  Status AddStep(std::int64_t step) {
    std::vector<int> values;
    std::size_t parameter = 0;
    for (const OperatorListValue& value : recurrence_.step.values()) {
      if (value.scalar) {
        values.push_back(list_.AddScalar(value.type, *value.scalar));
        continue;
      }
      Result<int> own = 0;
      if (value.op) {
        std::vector<int> operands;
        for (int operand : value.operands) {
          operands.push_back(values[static_cast<std::size_t>(operand)]);
        }
        own = list_.AddOperator(*value.op, std::move(operands));
      } else {
        own = ParameterOf(parameter++, step);
      }
      TW_RETURN_IF_ERROR(own);
      values.push_back(*own);
    }
    int& result = results_[static_cast<std::size_t>(step)];
    result = values.back();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      states_[i] = values[static_cast<std::size_t>(recurrence_.next[i])];
    }
    if (recurrence_.results != StepResults::kWithStates) return {};
    TW_ASSIGN_OR_RETURN(result, WithStates(result));
    return {};
  }

  /// Returns the result of a step and the states after it, [1, 1 + states, …].
  Result<int> WithStates(int result) {
    std::vector<std::int64_t> shape = list_.TypeOf(result).shape;
    shape.insert(shape.begin(), {1, 1});
    std::vector<int> parts;
    std::vector<int> values{result};
    values.insert(values.end(), states_.begin(), states_.end());
    for (int value : values) {
      TW_ASSIGN_OR_RETURN(parts.emplace_back(), Reshape(value, shape));
    }
    Operator concat{OpKind::kConcat, {}};
    concat.attributes.axis = 1;
    return list_.AddOperator(std::move(concat), std::move(parts));
  }

  Result<int> ParameterOf(std::size_t parameter, std::int64_t step) {
    const auto sliced = static_cast<std::size_t>(recurrence_.sliced);
    if (parameter < sliced) return Part(inputs_[parameter], step);
    if (parameter < sliced + states_.size()) return states_[parameter - sliced];
    return inputs_[parameter];
  }

  /// Joins along the first dimension; a kernel takes up to 256 tensors.
  Status Join(std::vector<int> parts) {
    constexpr std::ptrdiff_t kMaxJoined = 128;
    do {
      std::vector<int> joined;
      for (auto at = parts.begin(); at != parts.end();) {
        const auto end = at + std::min(kMaxJoined, parts.end() - at);
        TW_ASSIGN_OR_RETURN(auto whole,
                            list_.AddOperator({OpKind::kConcat, {}}, std::vector<int>(at, end)));
        joined.push_back(whole);
        at = end;
      }
      parts = std::move(joined);
    } while (parts.size() > 1);
    return {};
  }

  const Recurrence& recurrence_;
  const std::int64_t steps_;
  OperatorList list_;
  std::vector<int> inputs_, states_, results_;
};

}  // namespace

RecurrenceValue::RecurrenceValue() = default;
RecurrenceValue::RecurrenceValue(Recurrence recurrence)
    : value_(std::make_unique<const Recurrence>(std::move(recurrence))) {}
RecurrenceValue::RecurrenceValue(const RecurrenceValue& other)
    : value_(other.value_ ? std::make_unique<const Recurrence>(*other.value_) : nullptr) {}
RecurrenceValue::RecurrenceValue(RecurrenceValue&& other) noexcept = default;
RecurrenceValue& RecurrenceValue::operator=(const RecurrenceValue& other) {
  if (this != &other) *this = RecurrenceValue(other);
  return *this;
}
RecurrenceValue& RecurrenceValue::operator=(RecurrenceValue&& other) noexcept = default;
RecurrenceValue::~RecurrenceValue() = default;

bool RecurrenceValue::Equals(const RecurrenceValue& other) const {
  if (!value_ || !other.value_) return value_ == other.value_;
  return *value_ == *other.value_;
}

Operator RecurrenceOperator(Recurrence recurrence) {
  Operator op{OpKind::kRecurrence, {}};
  op.attributes.recurrence = RecurrenceValue(std::move(recurrence));
  return op;
}

Result<OperatorList> UnrolledList(const Operator& op, std::span<const TensorType> inputs) {
  const std::int64_t steps = StepsOf(inputs);
  if (steps > kMaxUnrolledSteps) {
    return Unsupported(fmt::format("{} steps written out one after the other, expected at most {}",
                                   steps, kMaxUnrolledSteps));
  }
  return Unroller(*op.attributes.recurrence, inputs, steps).Run();
}

}  // namespace tilewright
