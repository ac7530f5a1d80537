#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "src/base/clock.h"

namespace tilewright::search {

/// Clock that advances only by calls and by sleeps. Starts at 0.
class VirtualClock final : public Clock {
 public:
  double MonotonicSeconds() override { return now_; }
  double UnixSeconds() override { return now_; }
  void SleepSeconds(double seconds) override { now_.fetch_add(seconds); }
  void AdvanceTo(double now) {
    if (now > now_) now_ = now;
  }

 private:
  std::atomic<double> now_{0};  // one thread advances it, others read it
};

struct ReplayOptions {
  int builders = 2;
  int capacity = 6;
  double resolution = 0.02;
};

/// Measurer without compiler and device. A function returns the trial of each candidate; builders
/// and one runner are simulated on a virtual clock, for tests of overlap.
class ReplayMeasurer final : public measure::Measurer {
 public:
  /// Returns the trial of a candidate. Its build_seconds and run_seconds are the durations of the
  /// stages (a trial that failed to build never reaches the runner).
  using Outcomes = std::function<Trial(const Candidate&)>;
  /// clock: has to outlive the measurer.
  ReplayMeasurer(Outcomes outcomes, VirtualClock& clock, const ReplayOptions& options = {});

  Status Submit(measure::Request request) override;
  Result<std::optional<measure::Reply>> Next(double timeout_seconds) override;
  std::vector<std::uint64_t> CancelPending() override;
  int in_flight() const override { return static_cast<int>(jobs_.size()); }
  int capacity() const override { return options_.capacity; }
  measure::TimeSplit time_split() const override;
  const DeviceFingerprint& device() const override { return device_; }
  double resolution() const override { return options_.resolution; }
  Result<std::vector<Trial>> Race(const std::vector<Candidate>& finalists,
                                  const measure::RaceSettings& terms) override;

  /// Returns every submitted candidate, in order.
  const std::vector<Candidate>& submitted() const { return submitted_; }

 private:
  struct Job {
    measure::Reply reply;
    double build_start = 0, build_end = 0, run_start = 0, run_end = 0;
    double done() const { return run_end > 0 ? run_end : build_end; }
  };
  void Occupy(double from, double to);
  Outcomes outcomes_;
  VirtualClock& clock_;
  ReplayOptions options_;
  DeviceFingerprint device_;
  std::vector<double> builder_free_;  // time at which each becomes free
  double runner_free_ = 0;
  std::vector<Job> jobs_;
  std::vector<Candidate> submitted_;
  measure::TimeSplit split_;
  double busy_until_ = 0;  // end of the last interval counted as busy
  double start_ = 0;
};

}  // namespace tilewright::search
