#pragma once

#include <cstdint>

#include "measure/interference_probe.h"
#include "measure/statistics.h"

namespace tilewright::measure {

/// Says what the canary of a kernel's level of memory means for that kernel. A neighbour who fills
/// the shared cache delays a kernel by as much as the kernel reads there: one that computes a
/// millisecond on what is read in 40 us does not notice what doubles the canary's time.
class MemoryDelayEstimator {
 public:
  /// Share of its time that a kernel may lose and still count as quiet.
  static constexpr double kMaxDelay = 0.05;

  /// Watches nothing: no delay is ever seen.
  MemoryDelayEstimator() = default;
  /// gate: of that level's canary. bytes: what the kernel reads there.
  MemoryDelayEstimator(int level, const NoiseFilter& gate, std::int64_t bytes)
      : level_(level), gate_(gate), bytes_(bytes) {}

  void Add(double now, double probe_seconds) { gate_.Add(now, probe_seconds); }
  /// How much longer than in quiet a call takes that reads each of its tensors once. 0 for what is
  /// within the canary's own unevenness.
  double DelaySeconds(double probe_seconds) const;

 private:
  int level_ = 0;
  NoiseFilter gate_;
  std::int64_t bytes_ = 0;
};

}  // namespace tilewright::measure
