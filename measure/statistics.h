#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::measure {

/// Middle value of the samples (mean of the two middle ones for an even count); 0 for none.
double Median(std::span<const double> samples);

/// What a set of samples says. Whatever disturbs a kernel adds time and never takes any away, so
/// the middle of the samples moves with the noise and their lower end does not: the value is a low
/// quantile, which three disturbed samples of four leave where it was.
struct Estimate {
  static constexpr double kQuantile = 0.25;
  double value = 0;  ///< the quantile, between the two samples next to it
  /// Half-width of the quantile's 95 % interval, relative to it. From order statistics, which
  /// assume nothing about the distribution; fewer than six samples give too few ranks: then their
  /// whole range.
  double noise = 0;
};
Estimate EstimateOf(std::span<const double> samples);

/// Relative difference an A/A test can not tell from none: 95 % bound from pairs of values measured
/// for one and the same code. Pairs are (values[0], values[1]), (values[2], values[3]), …
/// returns 0 for less than one pair.
double ResolutionOf(std::span<const double> values);

/// Decides which moments are quiet, from the durations of one constant piece of work (the canary)
/// run around each slice of samples: a core is quiet or disturbed for seconds at a time, and the
/// fastest canaries of the last minute show what quiet is.
class NoiseFilter {
 public:
  struct Settings {
    double tolerance = 0.06;    ///< a canary at most this much above the quiet time is quiet
    double bucket_seconds = 1;  ///< one fastest time is kept per bucket
    int buckets = 60;           ///< how long a fast time is remembered: clocks drift
  };
  NoiseFilter() = default;
  explicit NoiseFilter(const Settings& settings) : settings_(settings) {}

  /// now: seconds of the wall clock (a device's own clock may stand still between samples); if it
  /// goes back, the last bucket goes on. probe_seconds: how long the canary took.
  void Add(double now, double probe_seconds);
  /// Duration of an undisturbed canary: the second fastest bucket, so that a single measurement
  /// that was too short cannot declare everything else disturbed; or the reference, if that is
  /// shorter. 0 until something was added.
  double uncontended_seconds() const;
  /// The same without the reference.
  double observed_seconds() const;
  /// What an undisturbed canary took in an earlier life of the runner, so that one started in noise
  /// does not take it for quiet. 0: unknown.
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
