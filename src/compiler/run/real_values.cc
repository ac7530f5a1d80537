#include "src/compiler/run/real_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

// A fit to fewer elements would match anything.
constexpr std::int64_t kMinPerChannel = 16;

/// Least-squares fit of y = a * x + b over the elements of one channel.
struct LineFit {
  double count = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;

  void Add(double q, double real) {
    ++count;
    x += q;
    y += real;
    xx += q * q;
    xy += q * real;
    yy += real * real;
  }
  double SlopeThroughZero() const { return Positive(xy, xx, yy); }
  double Slope() const {
    const double spread = xx - x * x / count;
    if (!(spread > 0)) return SlopeThroughZero();
    return Positive(xy - x * y / count, spread, yy - y * y / count);
  }

  // Returns a positive scale. If the numbers decrease with the reference, the scale that makes them
  // as large, so that the difference shows.
  static double Positive(double product, double numbers, double reals) {
    if (numbers > 0 && product > 0) return product / numbers;
    return numbers > 0 && reals > 0 ? std::sqrt(reals / numbers) : 1;
  }
};

}  // namespace

void RealValues::Spread(std::int64_t axis) {
  channels_ = std::ssize(scales_);
  inner_ = 1;
  const auto& shape = tensor_->shape();
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; channels_ > 1 && i < shape.size(); ++i) {
    inner_ *= shape[i];
  }
}

RealValues RealValues::Of(const Tensor& tensor,
                          const std::optional<QuantizationParams>& quantization_params) {
  RealValues values(tensor);
  if (!quantization_params || quantization_params->scales.empty() || !tensor.dtype().is_integer())
    return values;
  values.scales_.assign(quantization_params->scales.begin(), quantization_params->scales.end());
  values.zero_ = static_cast<double>(quantization_params->zero_point);
  values.Spread(quantization_params->axis);
  return values;
}

RealValues RealValues::Fitted(const Tensor& tensor, const RealValues& expected, bool sums) {
  RealValues values(tensor);
  const auto& shape = tensor.shape();
  const std::int64_t channels = sums && shape.size() == 4 ? shape[1] : 1;
  if (tensor.elements() / channels >= kMinPerChannel) {
    values.scales_.assign(static_cast<std::size_t>(channels), 1.0);
    values.Spread(1);
  }
  std::vector<LineFit> fits(values.scales_.size());
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double real = expected.At(i);
    const auto channel = static_cast<std::size_t>(i / values.inner_ % values.channels_);
    if (std::isfinite(real)) fits[channel].Add(tensor.At(i), real);
  }
  for (std::size_t i = 0; i < fits.size(); ++i) {
    values.scales_[i] = sums ? fits[i].SlopeThroughZero() : fits[i].Slope();
  }
  if (!sums && fits[0].count > 0 && values.scales_[0] != 0) {
    values.zero_ = (fits[0].x - fits[0].y / values.scales_[0]) / fits[0].count;
  }
  return values;
}

std::int64_t RealValues::Largest() const {
  std::int64_t largest = 0;
  for (std::int64_t i = 1; i < elements(); ++i) {
    if (At(i) > At(largest)) largest = i;
  }
  return largest;
}

Tensor FromReals(const RealValues& reals, const TensorType& type,
                 const std::optional<QuantizationParams>& quantization_params) {
  Tensor tensor(type);
  const bool numbers =
      quantization_params && !quantization_params->scales.empty() && type.dtype.is_integer();
  const double scale = numbers ? static_cast<double>(quantization_params->scales[0]) : 1;
  const double zero = numbers ? static_cast<double>(quantization_params->zero_point) : 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = reals.At(i) / scale;
    tensor.Set(i, numbers ? std::nearbyint(value) + zero : value);
  }
  return tensor;
}

std::string NonFiniteMismatchText(std::int64_t non_finite_mismatches) {
  if (non_finite_mismatches == 0) return "";
  return fmt::format("; {} elements are infinite or no numbers on one side: see weights and inputs",
                     non_finite_mismatches);
}

ErrorStatistics CompareReals(const RealValues& actual, const RealValues& expected) {
  ErrorStatistics statistics;
  double signal = 0, noise = 0, product = 0, energy = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double wanted = expected.At(i), value = actual.At(i);
    if (!std::isfinite(wanted) || !std::isfinite(value)) {
      const bool alike = wanted == value || (std::isnan(wanted) && std::isnan(value));
      statistics.non_finite_mismatches += alike ? 0 : 1;
      continue;
    }
    const double error = value - wanted;
    statistics.max_abs = std::max(statistics.max_abs, std::abs(error));
    noise += error * error;
    signal += wanted * wanted;
    product += wanted * value;
    energy += value * value;
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(expected.elements(), 1));
  statistics.rms = std::sqrt(noise / count);
  statistics.reference_rms = std::sqrt(signal / count);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  statistics.sqnr_db = noise == 0 ? kInfinite : 10 * std::log10(signal / noise);
  if (statistics.non_finite_mismatches > 0) statistics.sqnr_db = -kInfinite;
  statistics.factored_sqnr_db = statistics.sqnr_db;
  if (statistics.non_finite_mismatches > 0 || energy == 0) return statistics;
  statistics.factor = product / energy;
  // Rounding can make the remainder of an exact multiple negative.
  const double rest = std::max(signal - product * statistics.factor, 0.0);
  statistics.factored_sqnr_db = rest == 0 ? kInfinite : 10 * std::log10(signal / rest);
  return statistics;
}

}  // namespace tilewright
