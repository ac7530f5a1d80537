#pragma once

#include "src/base/clock.h"

namespace tilewright {

/// Stands still until a test moves it, or sleeps on it.
class SetClock final : public Clock {
 public:
  explicit SetClock(double start = 0) : now(start) {}
  double MonotonicSeconds() override { return now; }
  double UnixSeconds() override { return now; }
  void SleepSeconds(double seconds) override { now += seconds; }
  double now;  ///< seconds
};

}  // namespace tilewright
