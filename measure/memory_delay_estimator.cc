#include "measure/memory_delay_estimator.h"

namespace tilewright::measure {

double MemoryDelayEstimator::DelaySeconds(double probe_seconds) const {
  if (level_ == 0 || probe_seconds <= 0 || gate_.IsClean(probe_seconds)) return 0;
  const double clean = gate_.uncontended_seconds();
  const double uncontended_reading =
      clean * static_cast<double>(bytes_) /
      static_cast<double>(MemoryInterferenceProbe::BytesReadAt(level_));
  return uncontended_reading * (probe_seconds / clean - 1);
}

}  // namespace tilewright::measure
