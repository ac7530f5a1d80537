// Recurrences: their values compared with those of unrolled steps, their types, their error bounds.
#include "src/tensor/recurrence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/tensor/reference/error_bound.h"
#include "src/tensor/reference/evaluate_list.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/interpreter.h"
#include "tests/support/recurrences.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSteps = 5, kBatch = 2, kUnits = 3;

struct RecurrenceInputs {
  explicit RecurrenceInputs(std::int64_t steps = kSteps)
      : types(GatedRecurrenceInputs(steps, kBatch, kUnits)) {
    for (const TensorType& type : types) tensors.push_back(RandomTensor(type, 3 + tensors.size()));
    // The second sequence is shorter than the others.
    for (std::int64_t i = 0; i < steps * kBatch; ++i)
      tensors[1].Set(i, i % 2 == 0 || i < 6 ? 1 : 0);
    for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  }
  std::vector<TensorType> types;
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> pointers;
};

TEST(Recurrence, IsItsStepsWrittenOut) {
  for (const bool backwards : {false, true}) {
    const Operator op = GatedRecurrence(kBatch, kUnits, backwards);
    const RecurrenceInputs inputs;
    const auto type = InferType(op, inputs.types);
    ASSERT_TRUE(type.ok()) << type.status().message();
    EXPECT_EQ(type->ToString(), "float32[7,2,3]");
    const auto whole = Evaluate(op, inputs.pointers);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    const auto list = UnrolledList(op, inputs.types);
    ASSERT_TRUE(list.ok()) << list.status().message();
    const auto steps = EvaluateList(*list, inputs.pointers);
    ASSERT_TRUE(steps.ok()) << steps.status().message();
    for (std::int64_t i = 0; i < whole->elements(); ++i) EXPECT_EQ(whole->At(i), steps->At(i)) << i;
    // After its end, the sequence has zeros and keeps its state.
    const std::int64_t row = kBatch * kUnits;
    EXPECT_EQ(whole->At(4 * row + kUnits), 0);
    EXPECT_NE(whole->At(kSteps * row + kUnits), 0);
    EXPECT_EQ(whole->At(kSteps * row), whole->At((backwards ? 0 : kSteps - 1) * row));
  }
}

TEST(Recurrence, ManyStepsAreNotWrittenOut) {
  const Operator op = GatedRecurrence(kBatch, kUnits, false);
  const RecurrenceInputs inputs(kMaxUnrolledSteps + 1);
  EXPECT_TRUE(Evaluate(op, inputs.pointers).ok());
  const auto list = UnrolledList(op, inputs.types);
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(list.status().message(), HasSubstr("1025 steps"));
}

TEST(Recurrence, RefusesStepsThatDoNotFit) {
  const std::vector<TensorType> types = GatedRecurrenceInputs(kSteps, kBatch, kUnits);
  const auto message = [&](const Operator& op, std::span<const TensorType> inputs) {
    const auto type = InferType(op, inputs);
    return type.ok() ? std::string() : type.status().message();
  };
  const Operator whole = GatedRecurrence(kBatch, kUnits, false);
  const auto changed = [&](auto change) {
    Recurrence recurrence = *whole.attributes.recurrence;
    change(recurrence);
    return RecurrenceOperator(std::move(recurrence));
  };
  EXPECT_EQ(message(whole, types), "");
  EXPECT_THAT(message({OpKind::kRecurrence, {}}, types), HasSubstr("no step"));
  EXPECT_THAT(message(whole, std::span(types).first(4)), HasSubstr("4 inputs, expected 5"));
  EXPECT_THAT(message(changed([](Recurrence& r) { r.sliced = 4; }), types),
              HasSubstr("4 data and 2 states of 5 parameters"));
  EXPECT_THAT(message(changed([](Recurrence& r) { r.next[1] = 0; }), types),
              HasSubstr("state 1 is not like"));
  EXPECT_THAT(message(changed([](Recurrence& r) { r.next[0] = 1000; }), types),
              HasSubstr("state 0 is not like"));
  std::vector<TensorType> other = types;
  other[1].shape[0] = kSteps - 1;
  EXPECT_THAT(message(whole, other), HasSubstr("input 1 is bool[4,2,1], expected bool[5,2,1]"));
}

TEST(Recurrence, ErrorsOfAStateReachTheStepsBehindIt) {
  const Operator op = GatedRecurrence(kBatch, kUnits, false);
  const RecurrenceInputs inputs;
  std::vector<BoundedTensor> operands;
  for (const Tensor& tensor : inputs.tensors) operands.push_back({tensor.Clone(), Tensor()});
  const auto bounded = [&] {
    std::vector<const BoundedTensor*> pointers;
    for (const BoundedTensor& operand : operands) pointers.push_back(&operand);
    auto result = EvaluateBounded(op, pointers, 1);
    EXPECT_TRUE(result.ok());
    return *std::move(result);
  };
  const BoundedTensor exact = bounded();
  operands[3].error = Tensor(TensorType{{kBatch, kUnits}, kFloat64});
  operands[3].error.Set(0, 0.5);  // of the first unit's state
  const BoundedTensor off = bounded();
  for (std::int64_t step = 0; step < 2; ++step) {
    EXPECT_LT(exact.error.At(step * kBatch * kUnits), 1e-4);
    EXPECT_GT(off.error.At(step * kBatch * kUnits), 1e-3);
  }
  EXPECT_LT(off.error.At(kUnits), 1e-4) << "another sequence";
}

/// RNN (1 gate), GRU (3) or LSTM (4): data [steps,1,gates*units], states [1,units], weight
/// [gates*units,units].
Operator Layer(std::int64_t gates, std::int64_t units) {
  Recurrence recurrence;
  OperatorList& step = recurrence.step;
  const auto add = [&](OpKind kind, std::vector<int> operands, OpAttributes attributes = {}) {
    auto value = step.AddOperator({kind, std::move(attributes)}, std::move(operands));
    TW_CHECK(value.ok(), value.status().message());
    return *value;
  };
  const int x = step.AddParameter({{1, gates * units}, kFloat32});
  const int h = step.AddParameter({{1, units}, kFloat32});
  const int c = gates == 4 ? step.AddParameter({{1, units}, kFloat32}) : -1;
  const int weight = step.AddParameter({{gates * units, units}, kFloat32});
  const int product = add(OpKind::kDense, {h, weight}), sums = add(OpKind::kAdd, {x, product});
  const auto gate = [&](int of, std::int64_t index) {
    OpAttributes part;
    part.begin = {0, index * units}, part.end = {1, (index + 1) * units}, part.steps = {1, 1};
    return add(OpKind::kSlice, {of}, part);
  };
  const auto sigmoid = [&](std::int64_t index) {
    return add(OpKind::kSigmoid, {gate(sums, index)});
  };
  if (gates == 1) {
    recurrence.next = {add(OpKind::kTanh, {sums})};
  } else if (gates == 3) {
    const int update = sigmoid(0), reset = sigmoid(1);
    const int hidden = add(OpKind::kMul, {reset, gate(product, 2)});
    const int fresh = add(OpKind::kTanh, {add(OpKind::kAdd, {gate(x, 2), hidden})});
    const int change = add(OpKind::kMul, {update, add(OpKind::kSub, {h, fresh})});
    recurrence.next = {add(OpKind::kAdd, {fresh, change})};
  } else {
    const int input = sigmoid(0), output = sigmoid(1), forget = sigmoid(2);
    const int fresh = add(OpKind::kMul, {input, add(OpKind::kTanh, {gate(sums, 3)})});
    const int cell = add(OpKind::kAdd, {add(OpKind::kMul, {forget, c}), fresh});
    recurrence.next = {add(OpKind::kMul, {output, add(OpKind::kTanh, {cell})}), cell};
    add(OpKind::kMul, {output, add(OpKind::kTanh, {cell})});
  }
  return RecurrenceOperator(std::move(recurrence));
}

/// Weights are within +-spread / sqrt(units).
BoundedTensor LayerBounds(std::int64_t gates, std::int64_t steps, double spread = 1) {
  constexpr std::int64_t kHidden = 64;
  std::vector<BoundedTensor> operands;
  const auto add = [&](std::vector<std::int64_t> shape, double most) {
    Tensor tensor = RandomTensor({std::move(shape), kFloat32}, 7 + operands.size());
    double largest = 0;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      largest = std::max(largest, std::fabs(tensor.At(i)));
    }
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      tensor.Set(i, tensor.At(i) * most / largest);
    }
    operands.push_back({std::move(tensor), Tensor()});
  };
  add({steps, 1, gates * kHidden}, 1);
  for (int i = 0; i < (gates == 4 ? 2 : 1); ++i) add({1, kHidden}, 1);
  add({gates * kHidden, kHidden}, spread / std::sqrt(kHidden));
  std::vector<const BoundedTensor*> pointers;
  for (const BoundedTensor& operand : operands) pointers.push_back(&operand);
  auto result = EvaluateBounded(Layer(gates, kHidden), pointers, 1);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *std::move(result);
}

TEST(Recurrence, ZerosAreWrongHoweverLateTheyBegin) {
  for (const std::int64_t gates : {1, 3, 4}) {
    for (const std::int64_t steps : {40, 250}) {
      const BoundedTensor bounded = LayerBounds(gates, steps);
      EXPECT_FALSE(bounded.clamped) << gates;
      EXPECT_TRUE(CompareBounded(bounded.value, bounded).ok);
      const std::int64_t row = bounded.value.elements() / bounded.value.shape()[0];
      for (const std::int64_t from : {std::int64_t{10}, steps / 2, steps - 1, steps}) {
        Tensor wrong = bounded.value.Clone();
        for (std::int64_t i = from * row; i < wrong.elements(); ++i) wrong.Set(i, 0);
        EXPECT_FALSE(CompareBounded(wrong, bounded).ok) << gates << " gates from " << from;
        wrong = bounded.value.Clone();
        wrong.Set(from * row, wrong.At(from * row) + 0.01);
        EXPECT_FALSE(CompareBounded(wrong, bounded).ok) << gates << " gates, one of " << from;
      }
    }
  }
}

// Steps that amplify rounding errors by two or more soon leave no correct digit.
TEST(Recurrence, BoundsOfChaosAreCutOff) {
  const BoundedTensor bounded = LayerBounds(1, 200, 8);
  EXPECT_TRUE(bounded.clamped);
  Tensor wrong = bounded.value.Clone();
  for (std::int64_t i = wrong.elements() / 2; i < wrong.elements(); ++i) wrong.Set(i, 0);
  EXPECT_FALSE(CompareBounded(wrong, bounded).ok);
  EXPECT_FALSE(LayerBounds(1, 3, 8).clamped);
}

// A number that is rounded to the other side moves the states behind it, not those before it.
TEST(Recurrence, BoundsOfRoundedStates) {
  constexpr std::int64_t kLong = 60, kHidden = 32;
  std::vector<BoundedTensor> operands;
  for (const TensorType& type : QuantizedRecurrenceInputs(kLong, 1, kHidden)) {
    operands.push_back({RandomTensor(type, 7 + operands.size()), Tensor()});
  }
  for (std::int64_t row = 0; row < kHidden; ++row) {
    double total = 0;
    for (std::int64_t i = 0; i < kHidden; ++i) total += operands[2].value.At(row * kHidden + i);
    operands[3].value.Set(row, total);
  }
  std::vector<const BoundedTensor*> pointers;
  for (const BoundedTensor& operand : operands) pointers.push_back(&operand);
  const auto bounded = EvaluateBounded(QuantizedRecurrence(1, kHidden, false), pointers, 1);
  ASSERT_TRUE(bounded.ok()) << bounded.status().message();
  EXPECT_LT(bounded->error.At(0), 1e-4);
  EXPECT_GT(bounded->error.At((kLong - 1) * kHidden), bounded->error.At(0));
  Tensor wrong = bounded->value.Clone();
  for (std::int64_t i = kHidden; i < wrong.elements(); ++i) wrong.Set(i, 0.8 * wrong.At(i));
  EXPECT_FALSE(CompareBounded(wrong, *bounded).ok);
}

}  // namespace
}  // namespace tilewright
