// Evaluation of operators and anchors with their epilogue, for comparisons. Shares no code with
// lowering or code generation.

#include "src/tensor/reference/reference.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "src/tensor/layout.h"
#include "src/tensor/operator_list.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/recurrence.h"
#include "src/tensor/reference/evaluate_list.h"
#include "src/tensor/reference/internal.h"

namespace tilewright {
namespace reference {

std::vector<std::int64_t> StridesOf(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<std::int64_t> BroadcastSteps(const Tensor& input,
                                         const std::vector<std::int64_t>& shape) {
  const std::vector<std::int64_t> own = StridesOf(input.shape());
  std::vector<std::int64_t> steps(shape.size(), 0);
  const std::size_t skipped = shape.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (input.shape()[i] != 1) steps[skipped + i] = own[i];
  }
  return steps;
}

void ForEachIndex(const std::vector<std::int64_t>& shape,
                  const std::function<void(std::int64_t, const std::vector<std::int64_t>&)>& fn) {
  std::vector<std::int64_t> index(shape.size(), 0);
  const std::int64_t count = Product(shape);
  for (std::int64_t position = 0; position < count; ++position) {
    fn(position, index);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}

double StepOf(DataType dtype) {
  if (dtype == kFloat16) return 0x1p-10;
  if (dtype == kBFloat16) return 0x1p-7;
  return dtype.bits == 64 ? 0x1p-52 : 0x1p-23;
}

std::size_t Position(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace reference

namespace {

using reference::TensorPointers;

constexpr double kToleranceOfFloat32 = 1e-4;

Status CheckMost(OpKind kind, const TensorType& input, double work, std::int64_t most,
                 std::string_view unit) {
  if (work <= static_cast<double>(most)) return Status();
  return Unsupported(fmt::format("{} of {}: {:.3g} {}, the reference evaluator does at most {:.3g}",
                                 OpName(kind), input.ToString(), work, unit,
                                 static_cast<double>(most)));
}

Status CheckMacs(const Workload& w) {
  return CheckMost(w.op, w.data, static_cast<double>(w.macs()), kMaxMacs, "multiply-adds");
}

/// Returns the result of an anchor; 16-bit floats are computed in single precision and rounded
/// once.
Result<Tensor> EvaluateProduct(const Workload& workload, const Tensor& data, const Tensor& weight,
                               int threads) {
  if (data.type() != workload.data || weight.type() != workload.weight) {
    return InvalidArgument(fmt::format("{} of {} and {}, expected {} and {}", OpName(workload.op),
                                       data.type().ToString(), weight.type().ToString(),
                                       workload.data.ToString(), workload.weight.ToString()));
  }
  TW_ASSIGN_OR_RETURN(auto type, workload.OutputType());
  TW_RETURN_IF_ERROR(CheckMacs(workload));
  const DataType result = type.dtype;
  if (!workload.data.dtype.is_half()) {
    Tensor out(std::move(type));
    if (out.elements() > 0) reference::EvaluateContraction(workload, data, weight, threads, out);
    return out;
  }
  Workload wide = workload;
  wide.data.dtype = wide.weight.dtype = wide.out_dtype = kFloat32;
  TW_ASSIGN_OR_RETURN(auto exact,
                      EvaluateProduct(wide, reference::CastTensor(data, kFloat32),
                                      reference::CastTensor(weight, kFloat32), threads));
  return result == kFloat32 ? std::move(exact) : reference::CastTensor(exact, result);
}

/// Returns the operand of a step for the list: a vector of channels may lack the last ones, which
/// only pad the output's block.
Result<Tensor> OperandAs(const TensorType& wanted, const Tensor& operand, std::int64_t block) {
  const TensorType& type = operand.type();
  if (type == wanted) return operand.Clone();
  const std::int64_t missing = wanted.elements() - operand.elements();
  const bool vectors = type.shape.size() == 1 && wanted.shape.size() == 1;
  if (!vectors || type.dtype != wanted.dtype || missing < 0 || missing >= block) {
    return InvalidArgument(
        fmt::format("operand is {}, expected {}", type.ToString(), wanted.ToString()));
  }
  Tensor whole(wanted);
  std::copy_n(operand.data(), operand.bytes(), whole.data());
  return whole;
}

/// Compares 64-bit integers, whose digits do not fit a double.
Comparison CompareWideIntegers(const Tensor& result, const Tensor& reference) {
  Comparison comparison;
  const auto values = result.As<std::int64_t>(), expected = reference.As<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == expected[i]) continue;
    const auto position = static_cast<std::int64_t>(i);
    const double error = std::fabs(result.At(position) - reference.At(position));
    comparison.max_abs_error = std::max({comparison.max_abs_error, error, 1.0});
    if (comparison.first_bad < 0) comparison.first_bad = position;
  }
  comparison.ok = comparison.first_bad < 0;
  return comparison;
}

}  // namespace

Status CheckWork(const Operator& op, std::span<const TensorType> inputs, const TensorType& result) {
  if (result.elements() == 0) return Status();
  if (IsAnchor(op.kind)) {
    TW_ASSIGN_OR_RETURN(const auto workload, Workload::FromOperator(op, inputs[0], inputs[1]));
    return CheckMacs(workload);
  }
  const auto check = [&](double work) {
    return CheckMost(op.kind, inputs[0], work, kMaxTaps, "elements of windows");
  };
  const auto results = static_cast<double>(result.elements());
  if (op.kind == OpKind::kMaxPool2d || op.kind == OpKind::kAvgPool2d) {
    const auto window = static_cast<double>(op.attributes.pool_size[0]) *
                        static_cast<double>(op.attributes.pool_size[1]);
    return check(results * window);
  }
  if (op.kind == OpKind::kLrn) {
    const std::int64_t window = std::min(op.attributes.size, inputs[0].shape[1]);
    return check(results * static_cast<double>(window));
  }
  if (op.kind == OpKind::kExpression) {
    return CheckMost(op.kind, inputs[0], op.attributes.expression.iterations(), kMaxTaps, "values");
  }
  if (op.kind == OpKind::kRecurrence) {
    const double steps = static_cast<double>(StepsOf(inputs));
    return CheckMost(op.kind, inputs[0], steps * WorkOf(op.attributes.recurrence->step).operations,
                     2 * kMaxMacs, "operations");
  }
  return Status();
}

Result<Tensor> Evaluate(const Operator& op, TensorPointers inputs, int threads) {
  if (IsAnchor(op.kind) && inputs.size() == 2) {
    TW_ASSIGN_OR_RETURN(const auto workload,
                        Workload::FromOperator(op, inputs[0]->type(), inputs[1]->type()));
    return EvaluateProduct(workload, *inputs[0], *inputs[1], threads);
  }
  std::vector<TensorType> types;
  bool half = false;
  for (const Tensor* input : inputs) {
    types.push_back(input->type());
    half = half || input->dtype().is_half();
  }
  TW_ASSIGN_OR_RETURN(auto type, InferType(op, types));
  TW_RETURN_IF_ERROR(CheckWork(op, types, type));
  half = half || type.dtype.is_half();
  // An expression defines the types of its own arithmetic.
  const bool moves_data =
      FamilyOf(op.kind) == OpFamily::kDataMovement || op.kind == OpKind::kExpression;
  if (!half || moves_data) {
    Tensor out(type);
    if (out.elements() > 0) RowOf(op.kind).values(op, inputs, out);
    return out;
  }
  // Half precision is computed in single precision and rounded once.
  std::vector<Tensor> wide;
  std::vector<const Tensor*> pointers;
  for (const Tensor* input : inputs) {
    wide.push_back(input->dtype().is_half() ? reference::CastTensor(*input, kFloat32)
                                            : input->Clone());
  }
  for (const Tensor& input : wide) pointers.push_back(&input);
  Operator wide_op = op;
  if (op.attributes.dtype && op.attributes.dtype->is_half()) wide_op.attributes.dtype = kFloat32;
  TW_ASSIGN_OR_RETURN(auto result, Evaluate(wide_op, pointers, threads));
  return reference::CastTensor(result, type.dtype);
}

Result<Tensor> EvaluateAnchor(const Workload& workload, const Epilogue& epilogue,
                              const Tensor& data, const Tensor& weight, TensorPointers operands,
                              int threads) {
  TW_ASSIGN_OR_RETURN(auto list, OperatorListOf(workload, epilogue));
  if (workload.op == OpKind::kExpression) {
    std::vector<const Tensor*> all{&data};
    all.insert(all.end(), operands.begin(), operands.end());
    return EvaluateList(list, all, threads);
  }
  TW_ASSIGN_OR_RETURN(auto layout_text, workload.OutputLayout());
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layout_text));
  const bool matrices = IsMatrixProduct(workload.op);
  std::vector<const Tensor*> inputs{&data};
  if (workload.has_weight()) inputs.push_back(&weight);
  const std::vector<int> parameters = list.parameters();
  const std::size_t expected = parameters.size() - inputs.size();
  if (operands.size() != expected) {
    return InvalidArgument(
        fmt::format("{} epilogue operands, expected {}", operands.size(), expected));
  }
  std::vector<Tensor> whole;
  whole.reserve(operands.size());
  for (const Tensor* operand : operands) {
    TW_ASSIGN_OR_RETURN(auto taken, OperandAs(list.TypeOf(parameters[inputs.size()]), *operand,
                                              layout.BlockOf(matrices ? 'N' : 'C')));
    whole.push_back(std::move(taken));
    inputs.push_back(&whole.back());
  }
  return EvaluateList(list, inputs, threads);
}

Comparison Compare(const Tensor& result, const Tensor& reference, std::optional<double> tolerance) {
  Comparison comparison;
  if (result.type() != reference.type()) {
    comparison.first_bad = 0;
    return comparison;
  }
  const std::int64_t count = reference.elements();
  if (!reference.dtype().is_float() && reference.dtype().bits == 64) {
    return CompareWideIntegers(result, reference);
  }
  const bool exact = !reference.dtype().is_float();
  double squares = 0;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < count && !exact; ++i) {
    const double value = reference.At(i);
    if (!std::isfinite(value)) continue;
    squares += value * value;
    ++finite;
  }
  comparison.reference_rms = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  const bool half = reference.dtype() == kFloat16;
  const double relative = tolerance.value_or(half ? kToleranceOfFloat16 : kToleranceOfFloat32);
  const double unit = reference.dtype().is_half() ? reference::StepOf(reference.dtype()) : 0;
  const double bound = exact ? 0 : relative * comparison.reference_rms;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = result.At(i), expected = reference.At(i);
    const bool both_nan = std::isnan(value) && std::isnan(expected);
    if (both_nan || value == expected) continue;
    const double error = std::fabs(value - expected);
    if (error > comparison.max_abs_error) comparison.max_abs_error = error;
    // NaN is out of bounds.
    if (!(error <= bound + unit * std::fabs(expected)) && comparison.first_bad < 0)
      comparison.first_bad = i;
  }
  comparison.ok = comparison.first_bad < 0;
  return comparison;
}

}  // namespace tilewright
