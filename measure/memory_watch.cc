#include "measure/memory_watch.h"

namespace tilewright::measure {

double MemoryWatch::DelaySeconds(double canary_seconds) const {
  if (level_ == 0 || canary_seconds <= 0 || gate_.IsQuiet(canary_seconds)) return 0;
  const double quiet = gate_.quiet_seconds();
  const double quiet_reading =
      quiet * static_cast<double>(bytes_) / static_cast<double>(MemoryCanary::BytesReadAt(level_));
  return quiet_reading * (canary_seconds / quiet - 1);
}

}  // namespace tilewright::measure
