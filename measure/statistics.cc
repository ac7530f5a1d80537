#include "measure/statistics.h"

#include <algorithm>
#include <cmath>

namespace tilewright::measure {
namespace {

std::vector<double> Sorted(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double MedianOfSorted(const std::vector<double>& sorted) {
  if (sorted.empty()) return 0;
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

struct Interval {
  double low = 0, high = 0;
};

constexpr double kQuantile = Estimate::kQuantile;

/// 95 % interval of the quantile.
Interval IntervalOfSorted(const std::vector<double>& sorted) {
  if (sorted.empty()) return {};
  const auto last = sorted.size() - 1;
  if (sorted.size() < 6) return {sorted.front(), sorted.back()};
  const auto count = static_cast<double>(sorted.size());
  // The number of samples below the true quantile is binomial(n, q); its normal approximation
  // gives the ranks between which the quantile lies with 95 % confidence.
  const double reach = 1.96 * std::sqrt(kQuantile * (1 - kQuantile) * count);
  const double low = std::floor(count * kQuantile - reach);
  const double high = std::ceil(count * kQuantile + reach);
  const auto low_rank = low <= 0 ? std::size_t{0} : static_cast<std::size_t>(low);
  const auto high_rank = std::min(last, static_cast<std::size_t>(std::max(high, 0.0)));
  return {sorted[std::min(low_rank, last)], sorted[high_rank]};
}

}  // namespace

double Quantile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double Median(std::span<const double> samples) { return MedianOfSorted(Sorted(samples)); }

Estimate EstimateOf(std::span<const double> samples) {
  const std::vector<double> sorted = Sorted(samples);
  Estimate estimate;
  estimate.value = Quantile(sorted, kQuantile);
  if (sorted.size() == 1) {
    estimate.noise = 1;  // one sample shows no spread
  } else if (estimate.value > 0) {
    const Interval interval = IntervalOfSorted(sorted);
    estimate.noise = (interval.high - interval.low) / 2 / estimate.value;
  }
  return estimate;
}

double ResolutionOf(std::span<const double> values) {
  std::vector<double> differences;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    const double mean = (values[i] + values[i + 1]) / 2;
    if (mean > 0) differences.push_back(std::abs(values[i] - values[i + 1]) / mean);
  }
  // 1.96 standard deviations of a difference whose mean is zero by construction. The median is
  // robust against a single disturbed pair; 1.4826 is the factor for normal differences.
  return 1.96 * 1.4826 * Median(differences);
}

void NoiseFilter::Add(double now, double probe_seconds) {
  if (probe_seconds <= 0) return;
  const auto number = static_cast<std::int64_t>(std::floor(now / settings_.bucket_seconds));
  if (!buckets_.empty() && buckets_.back().number >= number) {
    Bucket& last = buckets_.back();
    last.fastest = std::min(last.fastest, probe_seconds);
  } else {
    buckets_.push_back({number, probe_seconds});
  }
  const std::int64_t oldest = buckets_.back().number - settings_.buckets;
  std::erase_if(buckets_, [oldest](const Bucket& bucket) { return bucket.number <= oldest; });
}

double NoiseFilter::observed_seconds() const {
  double fastest = 0, second = 0;
  for (const Bucket& bucket : buckets_) {
    if (fastest == 0 || bucket.fastest < fastest) {
      second = fastest;
      fastest = bucket.fastest;
    } else if (second == 0 || bucket.fastest < second) {
      second = bucket.fastest;
    }
  }
  return second == 0 ? fastest : second;
}

double NoiseFilter::uncontended_seconds() const {
  const double seen = observed_seconds();
  return reference_ > 0 && seen > 0 ? std::min(reference_, seen) : seen;
}

bool NoiseFilter::IsClean(double probe_seconds) const {
  const double clean = uncontended_seconds();
  return clean > 0 && probe_seconds <= clean * (1 + settings_.tolerance);
}

}  // namespace tilewright::measure
