// Error bounds of correct float32 results: sums by the magnitudes of their terms, functions by the
// ends of their operands' ranges, integers by ties before they were rounded.
#include "src/tensor/reference/error_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "src/tensor/operator_table.h"
#include "src/tensor/reference/expression.h"
#include "src/tensor/reference/periodic.h"
#include "src/tensor/reference/recurrence_error.h"

namespace tilewright {
namespace {

// Below the smallest normal number, kernels may use 0 for a value.
constexpr double kMinNormal = std::numeric_limits<float>::min();
constexpr double kUnitsOfFunctions = 4;
constexpr double kUnitsOfSums = 32;
constexpr double kRelativePart = 1e-5;

using BoundedInputs = std::span<const BoundedTensor* const>;

double ErrorAt(const BoundedTensor& tensor, std::int64_t i) {
  return tensor.exact() ? 0 : tensor.error.At(i);
}

Tensor ErrorsFor(const TensorType& type) { return Tensor(TensorType{type.shape, kFloat64}); }

std::vector<const Tensor*> ValuesOf(BoundedInputs inputs) {
  std::vector<const Tensor*> values;
  for (const BoundedTensor* input : inputs) values.push_back(&input->value);
  return values;
}

/// Returns value + side * (its error and `unit` of itself), in the value's own type.
Tensor Shifted(const BoundedTensor& input, double side, double unit) {
  Tensor moved = input.value.Clone();
  for (std::int64_t i = 0; i < moved.elements(); ++i) {
    const double value = moved.At(i);
    moved.Set(i, value + side * (ErrorAt(input, i) + unit * std::fabs(value)));
  }
  return moved;
}

/// Returns magnitudes increased by errors.
Tensor Magnitudes(const BoundedTensor& input) {
  Tensor magnitudes = input.value.Clone();
  for (std::int64_t i = 0; i < magnitudes.elements(); ++i) {
    magnitudes.Set(i, std::fabs(magnitudes.At(i)) + ErrorAt(input, i));
  }
  return magnitudes;
}

/// Returns the errors as a tensor of the value's type, for operators that pass them on.
Tensor ErrorsAsValues(const BoundedTensor& input) {
  Tensor errors(input.value.type());
  for (std::int64_t i = 0; i < errors.elements(); ++i) errors.Set(i, ErrorAt(input, i));
  return errors;
}

/// Returns true if the result is a whole number or a choice: the operand is rounded or compared as
/// it is, also next to a step of the function. Its error may take it over the step, to the next
/// number.
bool IsStep(OpKind kind, DataType result) { return RowOf(kind).rounds || !result.is_float(); }

/// Returns true if sums and products of the elements are exact in float32.
bool IsWhole(const Tensor& tensor) {
  if (tensor.data() == nullptr || !tensor.dtype().is_float()) return true;
  constexpr double kMax = 0x1p+22;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.At(i);
    if (!(std::fabs(value) <= kMax) || value != std::trunc(value)) return false;
  }
  return true;
}

/// Returns true for a product of exact numbers, and for bounds of such a product.
bool IsRoundedOnce(OpKind kind, BoundedInputs inputs) {
  const bool bounds = RowOf(kind).is_exact;
  if (!bounds && kind != OpKind::kMul && kind != OpKind::kDiv) return false;
  return std::ranges::all_of(inputs, [&](const BoundedTensor* input) {
    return input->exact() || (bounds && input->rounded_once);
  });
}

/// Returns the error of a function at the ends of the operands' ranges, element by element.
Result<Tensor> ErrorOfFunction(const Operator& op, BoundedInputs inputs, const Tensor& value,
                               int threads) {
  const auto whole = [](const BoundedTensor* input) {
    return IsWhole(input->value) && IsWhole(input->error);
  };
  const bool step = IsStep(op.kind, value.dtype());
  // A conversion from bfloat16 is exact. One to it rounds correctly, once.
  const bool widens = op.kind == OpKind::kCast && inputs[0]->value.dtype() == kBFloat16;
  const bool narrows = op.kind == OpKind::kCast && value.dtype() == kBFloat16;
  const bool exact =
      step || widens ||
      (RowOf(op.kind).preserves_integers && IsWhole(value) && std::ranges::all_of(inputs, whole));
  Tensor error;
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool rounded = !exact && !narrows && inputs[i]->value.dtype().is_float();
    const bool off = !inputs[i]->exact() && !(step && inputs[i]->rounded_once);
    if (rounded || off) moved.push_back(i);
  }
  if (moved.empty() && exact) return error;
  error = ErrorsFor(value.type());
  for (std::size_t sides = 0; sides < (std::size_t{1} << moved.size()); ++sides) {
    std::vector<const Tensor*> operands = ValuesOf(inputs);
    std::vector<Tensor> ends;
    ends.reserve(moved.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const BoundedTensor& input = *inputs[moved[i]];
      const double rounding = exact || narrows ? 0 : reference::StepOf(input.value.dtype());
      ends.push_back(Shifted(input, (sides >> i & 1) != 0 ? 1 : -1, rounding));
      operands[moved[i]] = &ends.back();
    }
    TW_ASSIGN_OR_RETURN(auto end, Evaluate(op, operands, threads));
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      const double distance = std::fabs(end.At(i) - value.At(i));
      if (std::isfinite(distance)) error.Set(i, std::max(error.At(i), distance));
    }
  }
  if (exact) return error;
  const double unit = narrows ? 0 : kUnitsOfFunctions * reference::StepOf(value.dtype());
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const double own = std::isfinite(value.At(i)) ? unit * std::fabs(value.At(i)) : 0;
    error.Set(i, error.At(i) + own + kMinNormal);
  }
  return error;
}

/// Returns the error of trigonometric functions; their code takes the operand unchanged.
Tensor ErrorOfPeriod(const Operator& op, const BoundedTensor& input, const Tensor& value) {
  Tensor error = ErrorsFor(value.type());
  const OperatorRow& row = RowOf(op.kind);
  const double unit = std::max(row.ulps, kUnitsOfFunctions) * reference::StepOf(value.dtype());
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const double own = std::isfinite(value.At(i)) ? unit * std::fabs(value.At(i)) : 0;
    const double carried =
        reference::ErrorOfPeriodic(row.name, input.value.At(i), ErrorAt(input, i));
    error.Set(i, carried + own + kMinNormal);
  }
  return error;
}

/// Returns a kernel whose taps are all the largest tap, per output and input channel.
Tensor LargestTaps(Tensor weight, const std::string& layout) {
  const std::vector<std::int64_t>& shape = weight.shape();
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * shape[d];
  const std::size_t h = layout.find('H'), w = layout.find('W');
  const auto first_tap = [&](std::int64_t i) {
    return i - i / strides[h] % shape[h] * strides[h] - i / strides[w] % shape[w] * strides[w];
  };
  for (const bool collects : {true, false}) {  // first tap of each kernel, then all from it
    for (std::int64_t i = 0; i < weight.elements(); ++i) {
      const std::int64_t first = first_tap(i), to = collects ? first : i;
      weight.Set(to, std::max(weight.At(to), weight.At(collects ? i : first)));
    }
  }
  return weight;
}

/// Replaces all elements of each tile by the largest one.
Tensor LargestOfTiles(Tensor image, const std::string& layout, std::int64_t tile) {
  const std::vector<std::int64_t>& shape = image.shape();
  for (const char axis : {'H', 'W'}) {
    const std::size_t d = layout.find(axis);
    std::int64_t stride = 1;
    for (std::size_t k = d + 1; k < shape.size(); ++k) stride *= shape[k];
    const auto first_of = [&](std::int64_t i) { return i - i / stride % shape[d] % tile * stride; };
    for (const bool collects : {true, false}) {
      for (std::int64_t i = 0; i < image.elements(); ++i) {
        const std::int64_t to = collects ? first_of(i) : i, from = collects ? i : first_of(i);
        image.Set(to, std::max(image.At(to), image.At(from)));
      }
    }
  }
  return image;
}

/// Returns true if the operator can have Winograd tiles.
bool HasTiles(const Operator& op, BoundedInputs inputs) {
  const auto plain = [](const std::string& layout, std::size_t rank) {
    return rank == 4 && layout.size() == 4 && layout.find('H') != std::string::npos &&
           layout.find('W') != std::string::npos;
  };
  return op.kind == OpKind::kConv2d &&
         plain(op.attributes.data_layout, inputs[0]->value.shape().size()) &&
         plain(op.attributes.kernel_layout, inputs[1]->value.shape().size());
}

/// Returns the sums of magnitudes of a convolution whose tiles are computed as a whole.
Result<Tensor> MagnitudesOfTiles(const Operator& op, const std::vector<const Tensor*>& magnitudes,
                                 std::int64_t tile, int threads) {
  const Tensor weight = LargestTaps(magnitudes[1]->Clone(), op.attributes.kernel_layout);
  std::vector<const Tensor*> operands = magnitudes;
  operands[1] = &weight;
  TW_ASSIGN_OR_RETURN(auto sum, Evaluate(op, operands, threads));
  return LargestOfTiles(std::move(sum), op.attributes.data_layout, tile);
}

/// Returns the error of a sum of products or of elements: units of the same sum of magnitudes.
Result<Tensor> ErrorOfSums(const Operator& op, BoundedInputs inputs, const Tensor& value,
                           int threads, std::int64_t winograd_tile) {
  const bool whole = !value.dtype().is_float();
  if (whole && std::ranges::all_of(inputs, &BoundedTensor::exact)) return Tensor();
  Tensor error = ErrorsFor(value.type());
  std::vector<Tensor> magnitudes;
  magnitudes.reserve(inputs.size());
  std::vector<const Tensor*> operands;
  for (const BoundedTensor* input : inputs) {
    magnitudes.push_back(Magnitudes(*input));
    operands.push_back(&magnitudes.back());
  }
  TW_ASSIGN_OR_RETURN(auto sum, winograd_tile > 0 && HasTiles(op, inputs)
                                    ? MagnitudesOfTiles(op, operands, winograd_tile, threads)
                                    : Evaluate(op, operands, threads));
  const double unit = SumErrorUnit(value.dtype());
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    if (!whole) error.Set(i, unit * sum.At(i) + kMinNormal);
  }
  // Errors of operands, times the magnitudes of the others.
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    if (inputs[which]->exact()) continue;
    const Tensor errors = ErrorsAsValues(*inputs[which]);
    std::vector<const Tensor*> with = operands;
    with[which] = &errors;
    TW_ASSIGN_OR_RETURN(auto carried, Evaluate(op, with, threads));
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      error.Set(i, error.At(i) + carried.At(i));
    }
  }
  return error;
}

/// Returns the error of results that are among the operands' elements: errors are only moved.
Result<Tensor> ErrorOfDataMovement(const Operator& op, BoundedInputs inputs, const Tensor& value,
                                   int threads) {
  Tensor error;
  if (std::ranges::all_of(inputs, &BoundedTensor::exact)) return error;
  std::vector<Tensor> errors;
  errors.reserve(inputs.size());
  std::vector<const Tensor*> operands = ValuesOf(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0 && op.kind == OpKind::kGather) continue;  // indices
    errors.push_back(ErrorsAsValues(*inputs[i]));
    operands[i] = &errors.back();
  }
  Operator move = op;
  move.attributes.pad_value = 0;
  if (op.kind == OpKind::kReduceMin) move.kind = OpKind::kReduceMax;
  TW_ASSIGN_OR_RETURN(auto moved, Evaluate(move, operands, threads));
  error = ErrorsFor(value.type());
  for (std::int64_t i = 0; i < value.elements(); ++i) error.Set(i, moved.At(i));
  return error;
}

/// exp(x - max) / sum, or its logarithm: the difference in the exponent is rounded, and so is the
/// sum. The largest error of the operand counts for every element.
Tensor ErrorOfSoftmax(const Operator& op, const BoundedTensor& input, const Tensor& value) {
  double carried = 0;
  for (std::int64_t i = 0; i < input.value.elements(); ++i) {
    carried = std::max(carried, ErrorAt(input, i));
  }
  Tensor error = ErrorsFor(value.type());
  const double unit = reference::StepOf(value.dtype());
  const bool logarithm = op.kind == OpKind::kLogSoftmax;
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const double result = std::fabs(value.At(i)), x = std::fabs(input.value.At(i));
    // The exponent: x minus the sum's logarithm, which is result - x itself.
    const double exponent = logarithm ? result : result > 0 ? -std::log(result) : x;
    const double off = kUnitsOfFunctions * unit * (2 * x + exponent + kUnitsOfFunctions) +
                       SumErrorUnit(value.dtype()) + 2 * carried;
    error.Set(i, (logarithm ? off : off * result) + kMinNormal);
  }
  return error;
}

/// gamma * (data - mean) / deviation + beta, of magnitudes.
Tensor ErrorOfBatchNorm(const Operator& op, BoundedInputs inputs, const Tensor& value) {
  const Tensor& data = inputs[0]->value;
  const auto rank = static_cast<std::int64_t>(data.shape().size());
  const std::int64_t axis = op.attributes.axis < 0 ? op.attributes.axis + rank : op.attributes.axis;
  std::int64_t inner = 1;
  for (std::int64_t i = axis + 1; i < rank; ++i) inner *= data.shape()[static_cast<std::size_t>(i)];
  const std::int64_t channels = data.shape()[static_cast<std::size_t>(axis)];
  Tensor error = ErrorsFor(value.type());
  const double unit = SumErrorUnit(value.dtype());
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const std::int64_t c = i / inner % channels;
    const double scale = std::fabs(inputs[1]->value.At(c)) /
                         std::sqrt(inputs[4]->value.At(c) + op.attributes.epsilon);
    const double magnitude = scale * (std::fabs(data.At(i)) + std::fabs(inputs[3]->value.At(c))) +
                             std::fabs(inputs[2]->value.At(c));
    error.Set(i, unit * magnitude + scale * ErrorAt(*inputs[0], i) + kMinNormal);
  }
  return error;
}

/// x / (bias + sum of squares)^beta, whose parts are all of one sign: a part of the result.
Tensor ErrorOfLrn(const BoundedTensor& input, const Tensor& value) {
  Tensor error = ErrorsFor(value.type());
  const double unit = SumErrorUnit(value.dtype());
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const double x = std::fabs(input.value.At(i)), result = std::fabs(value.At(i));
    const double carried = x > 0 ? 4 * ErrorAt(input, i) * result / x : ErrorAt(input, i);
    error.Set(i, unit * result + carried + kMinNormal);
  }
  return error;
}

/// Frees elements whose float no integer represents (too large, infinite, NaN): machines wrap,
/// saturate or return the lowest number, so any result is correct. Adds to `error`, which may be
/// without memory.
void FreeWhereUndefined(const BoundedTensor& input, const Tensor& value, Tensor& error) {
  const DataType dtype = value.dtype();
  const bool has_sign = dtype.code == TypeCode::kInt;
  const double most = std::ldexp(1.0, has_sign ? dtype.bits - 1 : dtype.bits);
  const double least = has_sign ? -most - 1 : -1;
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const double from = input.value.At(i);
    if (from > least && from < most) continue;  // false for NaN
    if (error.data() == nullptr) error = ErrorsFor(value.type());
    error.Set(i, 2 * most);
  }
}

Result<Tensor> ErrorOf(const Operator& op, BoundedInputs inputs, const Tensor& value, int threads,
                       std::int64_t winograd_tile) {
  switch (RowOf(op.kind).error) {
    case ErrorRule::kFunction:
      return ErrorOfFunction(op, inputs, value, threads);
    case ErrorRule::kSums:
      return ErrorOfSums(op, inputs, value, threads, winograd_tile);
    case ErrorRule::kDataMovement:
      return ErrorOfDataMovement(op, inputs, value, threads);
    case ErrorRule::kSoftmax:
      return ErrorOfSoftmax(op, *inputs[0], value);
    case ErrorRule::kBatchNorm:
      return ErrorOfBatchNorm(op, inputs, value);
    case ErrorRule::kLrn:
      return ErrorOfLrn(*inputs[0], value);
    case ErrorRule::kPeriodic:
      return ErrorOfPeriod(op, *inputs[0], value);
    case ErrorRule::kSteps:
      return reference::RecurrenceErrorBound(op, inputs, value, threads);
    case ErrorRule::kExpression:
      break;  // EvaluateBounded calls its evaluator
  }
  return Internal("an operator without a rule for its error");
}

/// Widens errors of positions: an operator may take any of the correct ones.
BoundedTensor WithErrorOfPositions(const BoundedTensor& input) {
  BoundedTensor wide{input.value.Clone(),
                     input.exact() ? ErrorsFor(input.value.type()) : input.error.Clone()};
  wide.rounded_once = input.rounded_once;
  wide.clamped = input.clamped;
  for (const auto& [element, position] : input.other_positions) {
    const double apart = std::fabs(static_cast<double>(position) - wide.value.At(element));
    wide.error.Set(element, std::max(wide.error.At(element), apart));
  }
  return wide;
}

}  // namespace

double SumErrorUnit(DataType dtype) {
  return dtype.is_half() ? reference::StepOf(dtype) : kUnitsOfSums * reference::StepOf(dtype);
}

Result<BoundedTensor> EvaluateBounded(const Operator& op, BoundedInputs inputs, int threads,
                                      std::int64_t winograd_tile) {
  const auto lists = [](const BoundedTensor* input) { return !input->other_positions.empty(); };
  if (std::ranges::any_of(inputs, lists)) {
    std::vector<BoundedTensor> wide;
    std::vector<const BoundedTensor*> pointers(inputs.begin(), inputs.end());
    wide.reserve(inputs.size());
    for (const BoundedTensor*& input : pointers) {
      if (lists(input)) input = &wide.emplace_back(WithErrorOfPositions(*input));
    }
    return EvaluateBounded(op, pointers, threads, winograd_tile);
  }
  if (op.kind == OpKind::kExpression) {
    const bool exact =
        std::ranges::all_of(inputs, [](const BoundedTensor* input) { return input->exact(); });
    if (!exact) return Unsupported("expression: bounds of inputs that are not exact");
    return EvaluateExpression(op.attributes.expression, ValuesOf(inputs), threads);
  }
  TW_ASSIGN_OR_RETURN(auto value, Evaluate(op, ValuesOf(inputs), threads));
  BoundedTensor bounded{std::move(value), Tensor()};
  // Whole numbers are exact, unless they were rounded from inexact ones.
  const bool rounded =
      std::ranges::any_of(inputs, [](const BoundedTensor* input) { return !input->exact(); });
  if (bounded.value.dtype().is_float() || rounded) {
    TW_ASSIGN_OR_RETURN(bounded.error, ErrorOf(op, inputs, bounded.value, threads, winograd_tile));
    if (op.kind == OpKind::kRecurrence) {
      bounded.clamped =
          reference::ClampRecurrenceBounds(*op.attributes.recurrence, bounded.value, bounded.error);
    }
    bounded.rounded_once = IsRoundedOnce(op.kind, inputs);
  }
  const bool truncates = op.kind == OpKind::kCast && bounded.value.dtype().is_integer();
  if (truncates && inputs[0]->value.dtype().is_float()) {
    FreeWhereUndefined(*inputs[0], bounded.value, bounded.error);
  }
  return bounded;
}

Comparison CompareBounded(const Tensor& result, const BoundedTensor& reference,
                          std::optional<double> tolerance) {
  Comparison comparison = Compare(result, reference.value, tolerance);
  if (comparison.ok || result.type() != reference.value.type()) return comparison;
  if (!result.dtype().is_float()) {
    const auto off = [&](std::int64_t i) {
      const double value = result.At(i);
      if (std::fabs(value - reference.value.At(i)) <= ErrorAt(reference, i)) return false;
      return !std::ranges::binary_search(reference.other_positions,
                                         std::pair(i, static_cast<std::int64_t>(value)));
    };
    comparison.first_bad = -1;
    for (std::int64_t i = 0; i < result.elements() && comparison.first_bad < 0; ++i) {
      if (off(i)) comparison.first_bad = i;
    }
    comparison.ok = comparison.first_bad < 0;
    return comparison;
  }
  // Compare's own bound, and in addition the element's.
  const bool half = result.dtype() == kFloat16;
  const double part = tolerance.value_or(half ? kToleranceOfFloat16 : 1e-4);
  const double common = part * comparison.reference_rms;
  const double relative =
      result.dtype().is_half() ? reference::StepOf(result.dtype()) : kRelativePart;
  comparison.first_bad = -1;
  for (std::int64_t i = 0; i < result.elements() && comparison.first_bad < 0; ++i) {
    const double value = result.At(i), expected = reference.value.At(i);
    if (value == expected || (std::isnan(value) && std::isnan(expected))) continue;
    const double own = ErrorAt(reference, i) + relative * std::fabs(expected);
    // NaN is out of bounds; an infinite bound allows everything else.
    if (!(std::fabs(value - expected) <= std::max(common, own))) comparison.first_bad = i;
  }
  comparison.ok = comparison.first_bad < 0;
  return comparison;
}

}  // namespace tilewright
