#pragma once

#include <cstdint>

#include "measure/interference_probe.h"
#include "measure/statistics.h"

namespace tilewright::measure {

/// Estimator of the delay that interference at a memory level causes for a kernel. A neighbour that
/// fills the shared cache delays a kernel in proportion to the bytes that the kernel reads there. A
/// kernel that computes for a millisecond on data that it reads in 40 us is hardly slower if the
/// probe takes twice its time.
class MemoryDelayEstimator {
 public:
  /// Maximum delay of a clean sample, as a share of the kernel's time.
  static constexpr double kMaxDelay = 0.05;

  /// Creates an estimator that always returns no delay.
  MemoryDelayEstimator() = default;
  /// gate: of that level's probe. bytes: number that the kernel reads at the level.
  MemoryDelayEstimator(int level, const NoiseFilter& gate, std::int64_t bytes)
      : level_(level), gate_(gate), bytes_(bytes) {}

  void Add(double now, double probe_seconds) { gate_.Add(now, probe_seconds); }
  /// Returns the delay of a call that reads each of its tensors once. Returns 0 within the probe's
  /// own variation.
  double DelaySeconds(double probe_seconds) const;

 private:
  int level_ = 0;
  NoiseFilter gate_;
  std::int64_t bytes_ = 0;
};

}  // namespace tilewright::measure
