// Conversion between step sizes. Left shifts are written as products, which give the same numbers
// and which every back end supports.
//
// The fixed-point product is (M * x + 2^(T-1)) >> T with T = 31 - shift, in int64. It gives the
// same numbers as TVM's ((x << max(shift, 0)) * M + 2^(T'-1)) >> T', and no product overflows.
// TONEAREST adds the product's sign (-1 or 0) before the shift, so that halves round away from
// zero.

#include "src/graph/quantize/rescale.h"

#include <algorithm>
#include <cmath>

#include "src/graph/quantize/fixed_point.h"

namespace tilewright::quantize {
namespace {

// A factor below 2^-32 maps every int32 to 0. A factor above 2^30 exceeds the range of values
// rounded to 16 bits or less.
constexpr int kMinShift = -31;
constexpr int kMaxShift = 30;

/// Returns the largest magnitude of a constant's elements in steps of its scales.
double LargestInSteps(const Tensor& constant, const Integers& steps) {
  const auto& shape = constant.shape();
  std::int64_t inner = 1;
  for (std::size_t i = shape.size() - std::min(steps.trailing_dimensions, shape.size());
       i < shape.size(); ++i) {
    inner *= shape[i];
  }
  double largest = 0;
  for (std::int64_t i = 0; i < constant.elements(); ++i) {
    const auto channel = static_cast<std::size_t>(i / inner) % steps.scales.size();
    largest = std::max(largest, std::abs(constant.At(i)) / steps.scales[channel]);
  }
  return largest;
}

/// Returns true if every factor is an integer: one step becomes `factor` steps.
bool IsMultiple(const std::vector<double>& factors) {
  return factors.size() == 1 && factors[0] == std::trunc(factors[0]) && factors[0] < 0x1.0p31;
}

std::vector<double> FactorsOf(const Integers& value, const std::vector<double>& to) {
  std::vector<double> factors = value.scales;
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] /= to[to.size() == 1 ? 0 : i];
  return factors;
}

}  // namespace

Result<int> Rescaler::Cast(std::string_view of, int value, DataType dtype) {
  if (graph_.node(value).type.dtype == dtype) return value;
  Operator op{OpKind::kCast, {}};
  op.attributes.dtype = dtype;
  return emitter_.Emit(of, std::move(op), {value});
}

Result<int> Rescaler::Clip(std::string_view of, int value, double least, double most) {
  Operator op{OpKind::kClip, {}};
  op.attributes.a_min = least;
  op.attributes.a_max = most;
  return emitter_.Emit(of, std::move(op), {value});
}

Result<Integers> Rescaler::Saturate(std::string_view of, Integers value, double most) {
  if (value.most <= most) return value;
  TW_ASSIGN_OR_RETURN(value.id, Clip(of, value.id, -most, most));
  value.most = most;
  return value;
}

int Rescaler::Constant(std::string_view of, DataType dtype, const std::vector<double>& values,
                       std::size_t trailing_dimensions) {
  if (values.size() == 1) return emitter_.EmitScalar(of, dtype, values[0]);
  std::vector<std::int64_t> shape(1 + trailing_dimensions, 1);
  shape[0] = static_cast<std::int64_t>(values.size());
  Tensor tensor(TensorType{std::move(shape), dtype});
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.Set(static_cast<std::int64_t>(i), values[i]);
  }
  return graph_.AddConstant(emitter_.NameFor(of), std::move(tensor));
}

Result<Integers> Rescaler::Round(const Node& annotation, int value,
                                 std::size_t trailing_dimensions) {
  Integers result{value, kFloat32, annotation.annotation.scales, trailing_dimensions};
  std::vector<double> inverse = result.scales;
  for (double& scale : inverse) scale = 1 / scale;
  const int factor = Constant(annotation.name, kFloat32, inverse, trailing_dimensions);
  TW_ASSIGN_OR_RETURN(auto scaled, Binary(annotation.name, OpKind::kMul, value, factor));
  TW_ASSIGN_OR_RETURN(auto rounded,
                      emitter_.Emit(annotation.name, Operator{OpKind::kRound, {}}, {scaled}));
  const auto [least, most] = config_.Bounds(annotation.annotation);
  const double bound = std::min(most, kLargestFloatInt32);
  TW_ASSIGN_OR_RETURN(result.id,
                      Clip(annotation.name, rounded, std::max(least, -kLargestFloatInt32), bound));
  result.most = bound;
  if (const Tensor* constant = graph_.Contents(value)) {
    // Plus one: the rounded values are floats.
    result.most = std::min(bound, LargestInSteps(*constant, result) + 1);
  }
  return result;
}

Result<int> Rescaler::Binary(std::string_view of, OpKind kind, int value, int operand) {
  return emitter_.Emit(of, Operator{kind, {}}, {value, operand});
}

Result<int> Rescaler::ShiftRight(std::string_view of, Integers value, int count) {
  if (config_.round_for_shift) {
    const double half = std::ldexp(1.0, count - 1);
    TW_ASSIGN_OR_RETURN(auto within, Saturate(of, std::move(value), kLargestFloatInt32 - half));
    TW_ASSIGN_OR_RETURN(value.id,
                        Binary(of, OpKind::kAdd, within.id, emitter_.EmitScalar(of, kInt32, half)));
  }
  return Binary(of, OpKind::kShiftRight, value.id, emitter_.EmitScalar(of, kInt32, count));
}

Result<int> Rescaler::FixedPointProduct(std::string_view of, const Integers& value,
                                        const std::vector<double>& factors) {
  std::vector<double> multipliers, halves, counts;
  for (double factor : factors) {
    const FixedPoint fixed = ToFixedPoint(factor);
    const int count = 31 - std::clamp(fixed.shift, kMinShift, kMaxShift);
    multipliers.push_back(fixed.shift < kMinShift ? 0 : static_cast<double>(fixed.multiplier));
    halves.push_back(std::ldexp(1.0, count - 1));
    counts.push_back(count);
  }
  const auto constant = [&](const std::vector<double>& numbers) {
    return Constant(of, kInt64, numbers, value.trailing_dimensions);
  };
  TW_ASSIGN_OR_RETURN(auto wide, Cast(of, value.id, kInt64));
  TW_ASSIGN_OR_RETURN(int sum, Binary(of, OpKind::kMul, wide, constant(multipliers)));
  if (config_.rounding == Rounding::kToNearest) {
    TW_ASSIGN_OR_RETURN(auto sign,
                        Binary(of, OpKind::kShiftRight, sum, emitter_.EmitScalar(of, kInt64, 63)));
    TW_ASSIGN_OR_RETURN(sum, Binary(of, OpKind::kAdd, sum, sign));
  }
  TW_ASSIGN_OR_RETURN(auto moved, Binary(of, OpKind::kAdd, sum, constant(halves)));
  return Binary(of, OpKind::kShiftRight, moved, constant(counts));
}

Result<Integers> Rescaler::Rescale(std::string_view of, Integers value,
                                   const std::vector<double>& to) {
  const std::vector<double> factors = FactorsOf(value, to);
  value.scales = to;
  if (std::ranges::all_of(factors, [](double factor) { return factor == 1; })) return value;
  TW_ASSIGN_OR_RETURN(value.id, Cast(of, value.id, kInt32));
  int exponent = 0;
  auto result = Result<int>(-1);
  if (factors.size() == 1 && IsPowerOfTwo(factors[0], &exponent) && exponent < 0 &&
      exponent > -31) {
    result = ShiftRight(of, value, -exponent);
  } else if (IsMultiple(factors)) {
    result = Binary(of, OpKind::kMul, value.id, emitter_.EmitScalar(of, kInt32, factors[0]));
  } else {
    result = FixedPointProduct(of, value, factors);
  }
  TW_RETURN_IF_ERROR(result);
  value.id = *result;
  value.most = std::min(kLargestInt32, std::ceil(value.most * std::ranges::max(factors)) + 1);
  return value;
}

Result<Integers> Rescaler::RescaleWithin(std::string_view of, const Integers& value,
                                         const std::vector<double>& to, double least, double most) {
  Integers narrow = value;
  if (const auto factors = FactorsOf(value, to); IsMultiple(factors) && factors[0] > 1) {
    // Values beyond these bounds are clipped after the product too; values within them do not wrap
    // around.
    const double bound =
        std::min(std::ceil(most / factors[0]), std::floor(kLargestInt32 / factors[0]));
    TW_ASSIGN_OR_RETURN(narrow.id, Clip(of, value.id, -bound, bound));
  }
  TW_ASSIGN_OR_RETURN(auto result, Rescale(of, std::move(narrow), to));
  TW_ASSIGN_OR_RETURN(auto clipped, Clip(of, result.id, least, most));
  TW_ASSIGN_OR_RETURN(result.id, Cast(of, clipped, graph_.node(value.id).type.dtype));
  result.most = most;
  return result;
}

}  // namespace tilewright::quantize
