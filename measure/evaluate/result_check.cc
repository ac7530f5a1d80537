#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "measure/evaluate/kernel_evaluation.h"
#include "src/tensor/layout.h"
#include "src/tensor/reference/reference.h"

namespace tilewright::measure {
namespace {

/// Largest error of a float32 or integer result that certainly passes Compare, without its cost;
/// nullopt if Compare must decide.
std::optional<double> QuickCompare(const std::byte* result, const std::byte* expected,
                                   const TensorType& type) {
  const auto bytes = static_cast<std::size_t>(type.bytes());
  if (bytes == 0 || std::memcmp(result, expected, bytes) == 0) return 0.0;
  if (type.dtype != kFloat32) return std::nullopt;
  const std::span wanted(reinterpret_cast<const float*>(expected), bytes / sizeof(float));
  float largest = 0;
  double squares = 0;
  bool comparable = true;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    float value;
    std::memcpy(&value, result + i * sizeof(float), sizeof(float));
    const float error = std::fabs(value - wanted[i]);
    comparable &= error <= std::numeric_limits<float>::max();  // false for NaN and infinity
    largest = std::max(largest, error);
    squares += static_cast<double>(wanted[i]) * wanted[i];
  }
  const double rms = std::sqrt(squares / static_cast<double>(wanted.size()));
  // Half the bound of Compare, which covers rounding in the sums above.
  if (!comparable || largest > 0.5e-4 * rms) return std::nullopt;
  return largest;
}

Result<Tensor> ResultTensor(const OperandCache::KernelOperands& kernel_operands,
                            const std::byte* output) {
  Tensor result(kernel_operands.output);
  std::memcpy(result.data(), output, static_cast<std::size_t>(result.bytes()));
  if (!kernel_operands.padded) return result;
  // A kernel may view the image as one row (1x1 convolutions): the memory has the layout's shape.
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(kernel_operands.output_layout));
  std::vector<std::int64_t> packed = layout.Pack(kernel_operands.logical);
  if (Product(packed) == result.elements()) result.Reshape(std::move(packed));
  return TransformLayout(result, kernel_operands.output_layout, kernel_operands.result_layout,
                         kernel_operands.logical);
}

std::optional<Failure> CompareSlowly(const OperandCache::KernelOperands& kernel_operands,
                                     const BoundedTensor& bounded, const std::byte* result,
                                     std::uint8_t poison, double* max_abs_error) {
  const Tensor& expected = bounded.value;
  auto got = ResultTensor(kernel_operands, result);
  if (!got.ok()) return Failure{Outcome::kRunFailed, got.status().message()};
  got->Reshape(expected.shape());
  const Comparison comparison = bounded.exact()
                                    ? Compare(*got, expected, kernel_operands.tolerance)
                                    : CompareBounded(*got, bounded, kernel_operands.tolerance);
  *max_abs_error = std::max(*max_abs_error, comparison.max_abs_error);
  if (comparison.ok) {
    WipeTensor(*got);  // of the fresh set: the next candidate must not read it
    return std::nullopt;
  }
  const std::int64_t at = std::max<std::int64_t>(comparison.first_bad, 0);
  const std::string where =
      "element " + std::to_string(at) + " of " + std::to_string(expected.elements());
  const std::byte* place = got->data() + at * got->dtype().bytes();
  const bool untouched = std::all_of(place, place + got->dtype().bytes(), [&](std::byte b) {
    return b == static_cast<std::byte>(poison);
  });
  if (untouched) return Failure{Outcome::kWrongResult, where + " was not written"};
  char values[96];
  std::snprintf(values, sizeof(values), " is %.9g, expected %.9g", got->At(at), expected.At(at));
  return Failure{Outcome::kWrongResult, where + values};
}

}  // namespace

std::uint8_t PoisonFor(DataType dtype, InputSet set) {
  if (dtype.is_float()) return 0xFF;
  return set == InputSet::kExtreme ? 0x5A : 0xA5;
}

std::optional<Failure> CheckResult(const OperandCache::KernelOperands& kernel_operands,
                                   InputSet set, const std::byte* result, std::uint8_t poison,
                                   double* max_abs_error) {
  const bool fresh = set == InputSet::kFresh;
  const BoundedTensor* known =
      fresh ? nullptr : kernel_operands.expected[static_cast<std::size_t>(set)];
  const std::byte* expected =
      fresh ? kernel_operands.fresh_expected->value.data() : known->value.data();
  const TensorType& type = fresh ? kernel_operands.fresh_expected->type : known->value.type();
  const auto error = kernel_operands.padded ? std::nullopt : QuickCompare(result, expected, type);
  if (error) {
    *max_abs_error = std::max(*max_abs_error, *error);
    return std::nullopt;
  }
  if (!fresh) return CompareSlowly(kernel_operands, *known, result, poison, max_abs_error);
  BoundedTensor copy = kernel_operands.fresh_expected->Copy();
  auto failure = CompareSlowly(kernel_operands, copy, result, poison, max_abs_error);
  WipeTensor(copy.value);
  return failure;
}

}  // namespace tilewright::measure
