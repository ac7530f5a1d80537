#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/tensor/operator.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// A value of the reference, and how far a right float32 result may be from it, element by element.
struct BoundedTensor {
  Tensor value;
  Tensor error;  ///< float64, of the value's shape; without memory: nothing
  /// The error is that of one product or quotient of exact numbers, which a sum with it may leave
  /// out (fused multiply-add). By itself it is rounded everywhere alike.
  bool rounded_once = false;
  /// Of a recurrence: steps multiply what is rounded so much that some bound was cut off. What is
  /// right may be further off there, as what is wrong is.
  bool clamped = false;
  /// Of elements that are positions of a largest or least value: (element, position) of others that
  /// are right, too, as errors of the values decide between them. Ascending.
  std::vector<std::pair<std::int64_t, std::int64_t>> other_positions = {};
  /// Nothing but the value is right; then `error` is without memory.
  bool exact() const { return error.data() == nullptr; }
};

/// As Evaluate, with the error that operands within theirs and arithmetic in float32 (float16 where
/// the types are) can make of it. Sums count by the magnitudes that went into them, whatever is
/// left of these; elementwise functions by what they do with the ends of their operands' ranges.
/// Numbers that are rounded to integers are exact, but where what sums and functions are off by
/// reaches beyond a tie: there a neighbour may be right, too. Where kCast takes a float that its
/// integers cannot hold, any of them is right.
/// winograd_tile: not 0 for a convolution computed by Winograd's F(winograd_tile, kernel): all that
/// a tile reads, times the largest weight, may have rounded each of its elements. What steps of a
/// recurrence leave to those behind them is measured, not the worst case, and a bound is at most a
/// hundredth of the root mean square of a row. Errors: those of Evaluate.
Result<BoundedTensor> EvaluateBounded(const Operator& op,
                                      std::span<const BoundedTensor* const> inputs, int threads,
                                      std::int64_t winograd_tile = 0);

/// What a sum may be off by, as a part of the sum of the magnitudes: 32 units of the type; of
/// float16, which is added up in float32, one.
double SumErrorUnit(DataType dtype);

/// Compare, where an element may also be off by its bound, or be another right position, and a
/// float by 1e-5 of itself: what is out of proportion to the rest of the tensor, or small because
/// large things cancelled, is judged by what it was made of.
Comparison CompareBounded(const Tensor& result, const BoundedTensor& reference,
                          std::optional<double> tolerance = std::nullopt);

}  // namespace tilewright
