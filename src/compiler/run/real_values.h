#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/graph/ir/graph.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Tensor as real numbers: floats unchanged, integers by their quantization parameters. Refers to
/// the tensor, which must outlive it.
class RealValues {
 public:
  /// Without quantization parameters the numbers stay unchanged.
  static RealValues Of(const Tensor& tensor,
                       const std::optional<QuantizationParams>& quantization_params);
  /// Reads numbers without quantization parameters by the scale and zero point that come nearest to
  /// `expected` (least squares; a scale is positive), which has as many elements. sums: the numbers
  /// are sums of products, which have zero point 0 and, if dimension 1 has enough elements per
  /// channel, one scale per channel.
  static RealValues Fitted(const Tensor& tensor, const RealValues& expected, bool sums);

  std::int64_t elements() const { return tensor_->elements(); }
  double At(std::int64_t index) const {
    const auto channel = static_cast<std::size_t>(index / inner_ % channels_);
    return scales_[channel] * (tensor_->At(index) - zero_);
  }
  /// Returns the first scale.
  double scale() const { return scales_[0]; }
  /// Returns the position of the first of the largest elements.
  std::int64_t Largest() const;

 private:
  explicit RealValues(const Tensor& tensor) : tensor_(&tensor) {}
  void Spread(std::int64_t axis);

  const Tensor* tensor_;
  std::vector<double> scales_ = {1};
  std::int64_t channels_ = 1, inner_ = 1;
  double zero_ = 0;
};

/// Converts real numbers to a tensor of a type of the same shape: rounded and saturated if
/// quantization parameters are given.
Tensor FromReals(const RealValues& reals, const TensorType& type,
                 const std::optional<QuantizationParams>& quantization_params);

struct ErrorStatistics {
  double max_abs = 0, rms = 0, reference_rms = 0;
  /// Energy of the reference divided by that of the error; infinite if they are equal, minus
  /// infinity if non-finite elements differ.
  double sqnr_db = 0;
  /// Factor of `actual` that brings it nearest to the reference (least squares), and the ratio with
  /// it. 1 and sqnr_db if `actual` is all zeros or not finite.
  double factor = 1, factored_sqnr_db = 0;
  /// Elements that are finite on one side only, or infinite or NaN in different ways.
  std::int64_t non_finite_mismatches = 0;
};
ErrorStatistics CompareReals(const RealValues& actual, const RealValues& expected);
/// Returns the end of a sentence about the difference; empty for none.
std::string NonFiniteMismatchText(std::int64_t non_finite_mismatches);

}  // namespace tilewright
