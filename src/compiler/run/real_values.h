#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/graph/ir/graph.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// A tensor read as real numbers: floats as they are, integers by what they stand for. Refers to
/// the tensor, which must outlive it.
class RealValues {
 public:
  /// Without a meaning the numbers are what they are.
  static RealValues Of(const Tensor& tensor,
                       const std::optional<QuantizationParams>& quantization_params);
  /// Numbers that nobody explains: by the scale and zero point that come nearest to `expected`
  /// (least squares; a scale is positive), of as many elements. sums: they are sums of products,
  /// which have zero point 0 and, where dimension 1 has enough elements per channel, a scale of
  /// their own per channel.
  static RealValues Fitted(const Tensor& tensor, const RealValues& expected, bool sums);

  std::int64_t elements() const { return tensor_->elements(); }
  double At(std::int64_t index) const {
    const auto channel = static_cast<std::size_t>(index / inner_ % channels_);
    return scales_[channel] * (tensor_->At(index) - zero_);
  }
  /// The first one, if there are several.
  double scale() const { return scales_[0]; }
  /// Position of the first of the largest elements.
  std::int64_t Largest() const;

 private:
  explicit RealValues(const Tensor& tensor) : tensor_(&tensor) {}
  void Spread(std::int64_t axis);

  const Tensor* tensor_;
  std::vector<double> scales_ = {1};
  std::int64_t channels_ = 1, inner_ = 1;
  double zero_ = 0;
};

/// Real numbers as a tensor of a type of the same shape: rounded and saturated as they are
/// quantized where `meaning` is given.
Tensor FromReals(const RealValues& reals, const TensorType& type,
                 const std::optional<QuantizationParams>& quantization_params);

struct ErrorStatistics {
  double max_abs = 0, rms = 0, reference_rms = 0;
  /// Energy of the reference over that of the error; infinite if they are equal, minus infinity if
  /// some are unlike.
  double sqnr_db = 0;
  /// What `actual` would have to be multiplied by to come nearest to the reference (least squares),
  /// and the ratio it would have then. 1 and sqnr_db where it is all zeros or not finite.
  double factor = 1, factored_sqnr_db = 0;
  /// Elements of which one alone is finite, or that are infinite or no numbers in two ways.
  std::int64_t non_finite_mismatches = 0;
};
ErrorStatistics CompareReals(const RealValues& actual, const RealValues& expected);
/// The end of a sentence about what differs; empty for none.
std::string NonFiniteMismatchText(std::int64_t non_finite_mismatches);

}  // namespace tilewright
