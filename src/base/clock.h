#pragma once

namespace tilewright {

/// Source of time. Injected into code whose decisions depend on it, so that tests need no real
/// time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Returns seconds since an arbitrary start; never decreases.
  virtual double MonotonicSeconds() = 0;
  /// Returns seconds since 1970-01-01 UTC.
  virtual double UnixSeconds() = 0;
  virtual void SleepSeconds(double seconds) = 0;
};

/// Clock of the machine.
class SystemClock final : public Clock {
 public:
  double MonotonicSeconds() override;
  double UnixSeconds() override;
  void SleepSeconds(double seconds) override;
};

}  // namespace tilewright
