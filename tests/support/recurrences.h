#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/tensor/recurrence.h"

namespace tilewright {

/// Returns a recurrence of two gates and two states; some sequences keep theirs from a step on: x
/// [steps,batch,2*units], flags of active sequences [steps,batch,1], h and c [batch,units], weight
/// [2*units,units].
inline Operator GatedRecurrence(std::int64_t batch, std::int64_t units, bool backwards) {
  Recurrence recurrence;
  OperatorList& step = recurrence.step;
  const auto add = [&](OpKind kind, std::vector<int> operands, OpAttributes attributes = {}) {
    auto value = step.AddOperator({kind, std::move(attributes)}, std::move(operands));
    TW_CHECK(value.ok(), value.status().message());
    return *value;
  };
  const int x = step.AddParameter({{batch, 2 * units}, kFloat32});
  const int goes_on = step.AddParameter({{batch, 1}, kBool});
  const int h = step.AddParameter({{batch, units}, kFloat32});
  const int c = step.AddParameter({{batch, units}, kFloat32});
  const int weight = step.AddParameter({{2 * units, units}, kFloat32});
  const int one = step.AddScalar({{}, kFloat32}, {1, 0}), zero = step.AddScalar({{}, kFloat32}, {});
  const int sums = add(OpKind::kAdd, {x, add(OpKind::kDense, {h, weight})});
  const auto gate = [&](std::int64_t index) {
    OpAttributes part;
    part.begin = {0, index * units}, part.end = {batch, (index + 1) * units}, part.steps = {1, 1};
    return add(OpKind::kSlice, {sums}, part);
  };
  const int update = add(OpKind::kSigmoid, {gate(0)});
  const int rest = add(OpKind::kSub, {one, update});
  const int fresh = add(OpKind::kMul, {rest, add(OpKind::kTanh, {gate(1)})});
  const int cell = add(OpKind::kAdd, {add(OpKind::kMul, {update, c}), fresh});
  const int made = add(OpKind::kTanh, {cell});
  recurrence.next = {add(OpKind::kWhere, {goes_on, made, h}),
                     add(OpKind::kWhere, {goes_on, cell, c})};
  add(OpKind::kWhere, {goes_on, made, zero});
  recurrence.sliced = 2;
  recurrence.backwards = backwards;
  return RecurrenceOperator(std::move(recurrence));
}

/// Returns a recurrence whose states are quantized to uint8 by their range: x [steps,batch,units],
/// h [batch,units], int8 weight [units,units], int32 sums of its rows [units].
inline Operator QuantizedRecurrence(std::int64_t batch, std::int64_t units, bool backwards) {
  Recurrence recurrence;
  OperatorList& step = recurrence.step;
  const auto add = [&](OpKind kind, std::vector<int> operands, OpAttributes attributes = {}) {
    auto value = step.AddOperator({kind, std::move(attributes)}, std::move(operands));
    TW_CHECK(value.ok(), value.status().message());
    return *value;
  };
  const auto number = [&](double value) { return step.AddScalar({{}, kFloat32}, {value, 0}); };
  const auto cast = [&](int value, DataType dtype, OpKind kind) {
    OpAttributes to;
    to.dtype = dtype;
    return add(kind, {value}, to);
  };
  const int x = step.AddParameter({{batch, units}, kFloat32});
  const int h = step.AddParameter({{batch, units}, kFloat32});
  const int weight = step.AddParameter({{units, units}, kInt8});
  const int totals = step.AddParameter({{units}, kInt32});
  const int low = add(OpKind::kMin, {add(OpKind::kReduceMin, {h}), number(0)});
  const int high = add(OpKind::kMax, {add(OpKind::kReduceMax, {h}), number(0)});
  const int range = add(OpKind::kSub, {high, low});
  const int scale = add(OpKind::kMax, {add(OpKind::kDiv, {range, number(255)}), number(1e-30)});
  const int first = add(OpKind::kNegate, {add(OpKind::kDiv, {low, scale})});
  const int zero = add(OpKind::kRoundEven, {first});
  const int rounded = add(OpKind::kRoundEven, {add(OpKind::kDiv, {h, scale})});
  const int numbers = cast(add(OpKind::kAdd, {rounded, zero}), kUInt8, OpKind::kSaturateCast);
  OpAttributes dense;
  dense.dtype = kInt32;
  const int sums = add(OpKind::kDense, {numbers, weight}, dense);
  const int moved = add(OpKind::kMul, {totals, cast(zero, kInt32, OpKind::kCast)});
  const int product = cast(add(OpKind::kSub, {sums, moved}), kFloat32, OpKind::kCast);
  const int factor = add(OpKind::kMul, {scale, number(1.0 / 2048)});
  const int scaled = add(OpKind::kMul, {product, factor});
  recurrence.next = {add(OpKind::kTanh, {add(OpKind::kAdd, {x, scaled})})};
  recurrence.backwards = backwards;
  return RecurrenceOperator(std::move(recurrence));
}

inline std::vector<TensorType> QuantizedRecurrenceInputs(std::int64_t steps, std::int64_t batch,
                                                         std::int64_t units) {
  return {{{steps, batch, units}, kFloat32},
          {{batch, units}, kFloat32},
          {{units, units}, kInt8},
          {{units}, kInt32}};
}

inline std::vector<TensorType> GatedRecurrenceInputs(std::int64_t steps, std::int64_t batch,
                                                     std::int64_t units) {
  const TensorType state{{batch, units}, kFloat32};
  return {{{steps, batch, 2 * units}, kFloat32},
          {{steps, batch, 1}, kBool},
          state,
          state,
          {{2 * units, units}, kFloat32}};
}

}  // namespace tilewright
