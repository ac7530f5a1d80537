// The operator whose attribute is a list of operators: its type, loops, values and work are those
// of repeated steps.
#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "src/tensor/compute/define_list.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/operator_types.h"
#include "src/tensor/recurrence.h"
#include "src/tensor/reference/evaluate_list.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

Status BadRecurrence(std::string_view why) {
  return InvalidArgument(fmt::format("recurrence: {}", why));
}

/// Errors: kInvalidArgument unless the step is in float32 and its states have the result's type.
Status CheckStep(const Recurrence& recurrence) {
  const OperatorList& step = recurrence.step;
  if (step.values().empty() || !step.values().back().op)
    return BadRecurrence("a step without a result");
  for (const OperatorListValue& value : step.values()) {
    const bool nested = value.op && value.op->kind == OpKind::kRecurrence;
    if (nested) return BadRecurrence("a recurrence in a step, expected other operators");
    if (value.type.dtype.is_half()) {
      return BadRecurrence(DataTypeName(value.type.dtype) + " in a step, expected float32");
    }
  }
  const std::vector<int> parameters = step.parameters();
  const std::size_t states = recurrence.next.size();
  if (recurrence.sliced < 1 ||
      static_cast<std::size_t>(recurrence.sliced) + states > parameters.size()) {
    return BadRecurrence(fmt::format("{} data and {} states of {} parameters", recurrence.sliced,
                                     states, parameters.size()));
  }
  for (std::size_t i = 0; i < states; ++i) {
    const int next = recurrence.next[i];
    const bool made = next >= 0 && std::cmp_less(next, step.values().size()) &&
                      step.values()[static_cast<std::size_t>(next)].op;
    const auto before = parameters[static_cast<std::size_t>(recurrence.sliced) + i];
    if (!made || step.TypeOf(next) != step.result() || step.TypeOf(before) != step.result()) {
      return BadRecurrence(
          fmt::format("state {} is not like the step's result, {}", i, step.result().ToString()));
    }
  }
  return {};
}

}  // namespace

Result<TensorType> TypeOfRecurrence(const Operator& op, InputTypes inputs) {
  if (!op.attributes.recurrence) return BadRecurrence("no step");
  const Recurrence& recurrence = *op.attributes.recurrence;
  TW_RETURN_IF_ERROR(CheckStep(recurrence));
  const std::vector<int> parameters = recurrence.step.parameters();
  if (inputs.size() != parameters.size()) {
    return BadRecurrence(fmt::format("{} inputs, expected {}", inputs.size(), parameters.size()));
  }
  const std::int64_t steps = inputs[0].shape.empty() ? 0 : inputs[0].shape[0];
  if (steps < 1) return BadRecurrence("input 0 is " + inputs[0].ToString() + ", expected steps");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TensorType expected = recurrence.step.TypeOf(parameters[i]);
    if (std::cmp_less(i, recurrence.sliced)) expected.shape.insert(expected.shape.begin(), steps);
    if (inputs[i] == expected) continue;
    return BadRecurrence(
        fmt::format("input {} is {}, expected {}", i, inputs[i].ToString(), expected.ToString()));
  }
  TensorType result = recurrence.step.result();
  const auto states = static_cast<std::int64_t>(recurrence.next.size());
  const bool behind = recurrence.results == StepResults::kThenLastStates;
  if (recurrence.results == StepResults::kWithStates) {
    result.shape.insert(result.shape.begin(), 1 + states);
  }
  result.shape.insert(result.shape.begin(), behind ? steps + states : steps);
  return result;
}

namespace {

std::vector<TensorType> TypesOf(std::span<const Buffer> buffers) {
  std::vector<TensorType> types;
  for (const Buffer& buffer : buffers) types.push_back({buffer->shape, buffer->dtype});
  return types;
}

/// Adds stages for every step. Many steps are too long for one kernel of these; the kernel with a
/// loop over the steps is src/templates/recurrence_kernel.h.
Status DefineRecurrence(const Operator& op, const TensorType&, Compute& compute) {
  TW_ASSIGN_OR_RETURN(auto list, UnrolledList(op, TypesOf(compute.inputs)));
  TW_ASSIGN_OR_RETURN(compute, DefineList(list));
  return {};
}

/// Returns the data of one step.
Tensor DataAt(const Tensor& data, std::int64_t step, const TensorType& type) {
  Tensor part(type);
  std::memcpy(part.data(), data.data() + step * type.bytes(),
              static_cast<std::size_t>(type.bytes()));
  return part;
}

void ValuesOfRecurrence(const Operator& op, std::span<const Tensor* const> inputs, Tensor& out) {
  const Recurrence& recurrence = *op.attributes.recurrence;
  const OperatorList& list = recurrence.step;
  const std::vector<int> parameters = list.parameters();
  const auto sliced = static_cast<std::size_t>(recurrence.sliced);
  const std::int64_t steps = inputs[0]->shape()[0], bytes = list.result().bytes();
  std::vector<const Tensor*> operands(inputs.begin(), inputs.end());
  std::vector<int> wanted = recurrence.next;
  wanted.push_back(static_cast<int>(list.values().size()) - 1);
  std::vector<Tensor> made;
  const auto write = [&](std::int64_t row, const Tensor& value) {
    std::memcpy(out.data() + row * bytes, value.data(), static_cast<std::size_t>(bytes));
  };
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t step = recurrence.backwards ? steps - 1 - i : i;
    std::vector<Tensor> data;
    for (std::size_t k = 0; k < sliced; ++k) {
      data.push_back(DataAt(*inputs[k], step, list.TypeOf(parameters[k])));
    }
    for (std::size_t k = 0; k < sliced; ++k) operands[k] = &data[k];
    auto values = EvaluateValues(list, operands, wanted);
    TW_CHECK(values.ok(), values.status().message());  // types were checked with the operator's
    made = *std::move(values);
    for (std::size_t k = 0; k < recurrence.next.size(); ++k) operands[sliced + k] = &made[k];
    const auto states = static_cast<std::int64_t>(recurrence.next.size());
    const bool with_states = recurrence.results == StepResults::kWithStates;
    const std::int64_t row = with_states ? step * (1 + states) : step;
    write(row, made.back());
    const bool last = i + 1 == steps && recurrence.results == StepResults::kThenLastStates;
    for (std::int64_t k = 0; (with_states || last) && k < states; ++k) {
      write((with_states ? row + 1 : steps) + k, made[static_cast<std::size_t>(k)]);
    }
  }
}

double OfSteps(const Operator& op, std::span<const TensorType> inputs, const TensorType&) {
  return static_cast<double>(StepsOf(inputs)) * WorkOf(op.attributes.recurrence->step).operations;
}

constexpr OperatorRow kRecurrenceRows[] = {
    {.kind = OpKind::kRecurrence,
     .name = "recurrence",
     .family = OpFamily::kRecurrence,
     .description =
         "data of all steps, first states, what all steps read: the results of steps that "
         "go on from one another, then the last states",
     .relay = "",
     .error = ErrorRule::kSteps,
     .type = &TypeOfRecurrence,
     .loops = &DefineRecurrence,
     .values = &ValuesOfRecurrence,
     .operations = &OfSteps}};

}  // namespace

std::span<const OperatorRow> RecurrenceOperators() { return kRecurrenceRows; }

}  // namespace tilewright
