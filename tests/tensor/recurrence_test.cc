// Recurrences: their values against those of the steps written out, their type, their bounds.
#include "src/tensor/recurrence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/tensor/reference/error_bound.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/recurrences.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSteps = 5, kBatch = 2, kUnits = 3;

struct RecurrenceInputs {
  explicit RecurrenceInputs(std::int64_t steps = kSteps)
      : types(GatedRecurrenceInputs(steps, kBatch, kUnits)) {
    for (const TensorType& type : types) tensors.push_back(RandomTensor(type, 3 + tensors.size()));
    // The second sequence ends before the others.
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
    // Behind its end the sequence has zeros, and keeps its state.
    const std::int64_t row = kBatch * kUnits;
    EXPECT_EQ(whole->At(4 * row + kUnits), 0);
    EXPECT_NE(whole->At(kSteps * row + kUnits), 0);
    EXPECT_EQ(whole->At(kSteps * row), whole->At((backwards ? 0 : kSteps - 1) * row));
  }
}

TEST(Recurrence, ManyStepsAreNotWrittenOut) {
  const Operator op = GatedRecurrence(kBatch, kUnits, false);
  const RecurrenceInputs inputs(kMostUnrolledSteps + 1);
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

}  // namespace
}  // namespace tilewright
