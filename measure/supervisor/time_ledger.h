#pragma once

#include "measure/measurer.h"

namespace tilewright::measure {

/// Ledger of the wall time: adds up the activities in progress at each moment.
class TimeLedger {
 public:
  /// now: monotonic seconds, the start.
  explicit TimeLedger(double now) : start_(now), last_(now) {}
  /// Sets the activities from `now` on: whether a runner works on a candidate, whether a build is
  /// in progress, and whether the device is being prepared (calibrated), which counts as none of
  /// the others and not as idle.
  void Set(double now, bool running, bool building, bool preparing);
  void AddTiming(double seconds) { split_.runner_timing_seconds += seconds; }
  /// The split up to `now`.
  TimeSplit At(double now) const;

 private:
  void AddUntil(double now, TimeSplit& split) const;
  double start_, last_;
  bool running_ = false, building_ = false, preparing_ = false;
  TimeSplit split_;
};

}  // namespace tilewright::measure
