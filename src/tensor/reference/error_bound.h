#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/tensor/operator.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Value of the reference with the maximum error of a correct float32 result, element by element.
struct BoundedTensor {
  Tensor value;
  Tensor error;  ///< float64, of the value's shape; without memory: nothing
  /// The error is that of one product or quotient of exact numbers, which a sum with it may leave
  /// out (fused multiply-add). By itself the product is rounded the same way everywhere.
  bool rounded_once = false;
  /// Of a recurrence: steps amplify roundings so much that some bound was cut off. There, a correct
  /// result may differ by more than the bound.
  bool clamped = false;
  /// For elements that are positions of a largest or least value: (element, position) of other
  /// correct positions, if errors of the values decide between them. Ascending.
  std::vector<std::pair<std::int64_t, std::int64_t>> other_positions = {};
  /// Returns true if only the value is correct; `error` then has no memory.
  bool exact() const { return error.data() == nullptr; }
};

/// Evaluates as Evaluate, with error bounds: of operands within their bounds, and of arithmetic in
/// float32 (float16 where the types are). Sums are bounded by the magnitudes of their terms,
/// whatever cancels. Elementwise functions are bounded by their values at the ends of the operands'
/// ranges. Numbers that are rounded to integers are exact, unless the error of sums or functions
/// reaches beyond a tie; then a neighbor may be correct, too. If kCast takes a float that its
/// integer type cannot hold, any integer is correct.
/// winograd_tile: not 0 for a convolution computed by Winograd's F(winograd_tile, kernel). The
/// bound of each element of a tile then counts all that the tile reads, times the largest weight.
/// The errors that steps of a recurrence pass on are measured, not the worst case, and a bound is
/// at most a hundredth of the root mean square of a row. Errors: those of Evaluate.
Result<BoundedTensor> EvaluateBounded(const Operator& op,
                                      std::span<const BoundedTensor* const> inputs, int threads,
                                      std::int64_t winograd_tile = 0);

/// Returns the maximum error of a sum as a part of the sum of magnitudes: 32 units of the type; of
/// float16, which is summed in float32, one.
double SumErrorUnit(DataType dtype);

/// Compares as Compare, but an element may also differ by its bound, or be another correct
/// position, and a float may differ by 1e-5 of itself. Elements that are out of proportion to the
/// rest of the tensor, or small because large terms cancelled, are thus judged by their terms.
Comparison CompareBounded(const Tensor& result, const BoundedTensor& reference,
                          std::optional<double> tolerance = std::nullopt);

}  // namespace tilewright
