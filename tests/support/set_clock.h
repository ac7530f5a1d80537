#pragma once

#include "src/base/clock.h"

namespace tilewright {

/// Clock that a test sets, or that advances when a test sleeps on it.
class SetClock final : public Clock {
 public:
  explicit SetClock(double start = 0) : now(start) {}
  double MonotonicSeconds() override { return now; }
  double UnixSeconds() override { return now; }
  void SleepSeconds(double seconds) override { now += seconds; }
  double now;  ///< seconds
};

}  // namespace tilewright
