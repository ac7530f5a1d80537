#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::measure {

/// Returns the median of the samples (mean of the two middle ones for an even count); 0 without
/// samples.
double Median(std::span<const double> samples);
/// Returns the quantile at `share` (0 to 1) of sorted samples, interpolated between two neighbors;
/// 0 for none.
double Quantile(std::span<const double> sorted, double share);

/// Estimate from a set of samples. Interference adds time and never removes any, so it moves the
/// median and not the lower end of the samples. The value is therefore a low quantile, which stays
/// the same if three of four samples are noisy.
struct Estimate {
  static constexpr double kQuantile = 0.25;
  double value = 0;  ///< the quantile, interpolated between adjacent samples
  /// Half-width of the quantile's 95 % interval, relative to it. From order statistics, which
  /// assume nothing about the distribution. Fewer than six samples have too few ranks: then half of
  /// their whole range.
  double noise = 0;
};
Estimate EstimateOf(std::span<const double> samples);

/// Returns the largest relative difference that is not significant: 95 % bound from pairs of values
/// of the same code. Pairs are (values[0], values[1]), (values[2], values[3]), … Returns 0 for less
/// than one pair.
double ResolutionOf(std::span<const double> values);

/// Noise filter: decides which samples are clean, from the durations of an interference probe run
/// around each slice of samples. Interference lasts for seconds at a time, and the fastest probe
/// runs of the last minute are the baseline.
class NoiseFilter {
 public:
  struct Settings {
    double tolerance = 0.06;  ///< a probe run at most this much above the uncontended time is clean
    double bucket_seconds = 1;  ///< one fastest time is kept per bucket
    int buckets = 60;           ///< number of buckets that are kept: clocks drift
  };
  NoiseFilter() = default;
  explicit NoiseFilter(const Settings& settings) : settings_(settings) {}

  /// Adds a probe run. now: seconds of the wall clock (a device's own clock may stop between
  /// samples); if it goes back, the last bucket continues. probe_seconds: duration of the probe
  /// run.
  void Add(double now, double probe_seconds);
  /// Returns the duration of an uncontended probe run: the second fastest bucket, so that a single
  /// measurement that was too short cannot make all others noisy; or the reference, if that is
  /// shorter. Returns 0 before the first Add.
  double uncontended_seconds() const;
  /// Returns the same without the reference.
  double observed_seconds() const;
  /// Sets the uncontended duration from an earlier run of the runner, for a runner that starts
  /// under interference. 0: unknown.
  void SetReference(double uncontended_seconds) { reference_ = uncontended_seconds; }
  bool IsClean(double probe_seconds) const;

 private:
  struct Bucket {
    std::int64_t number = 0;
    double fastest = 0;
  };
  Settings settings_;
  double reference_ = 0;
  std::vector<Bucket> buckets_;  // ascending numbers
};

}  // namespace tilewright::measure
