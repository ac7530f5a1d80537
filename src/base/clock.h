#pragma once

namespace tilewright {

/// Source of time. Injected wherever a decision depends on it, so that tests need no real time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since an arbitrary start; never goes back.
  virtual double MonotonicSeconds() = 0;
  /// Seconds since 1970-01-01 UTC.
  virtual double UnixSeconds() = 0;
  virtual void SleepSeconds(double seconds) = 0;
};

/// The machine's clock.
class SystemClock final : public Clock {
 public:
  double MonotonicSeconds() override;
  double UnixSeconds() override;
  void SleepSeconds(double seconds) override;
};

}  // namespace tilewright
