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
