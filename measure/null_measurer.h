#pragma once

#include <deque>

#include "measure/measurer.h"
#include "src/base/clock.h"
#include "src/templates/registry.h"

namespace tilewright::measure {

/// A device that is not there: every candidate of a known template takes the same time and is never
/// verified, so nothing of it is served. The smallest complete Measurer: copy it to add a device,
/// and add that device to the table of tests/conformance.
class NullMeasurer final : public Measurer {
 public:
  /// seconds: what every candidate is said to take. templates, clock: outlive the measurer.
  NullMeasurer(const TemplateRegistry& templates, Clock& clock, double seconds);

  Status Submit(Request request) override;
  Result<std::optional<Reply>> Next(double timeout_seconds) override;
  /// Nothing waits: what is submitted is finished.
  std::vector<std::uint64_t> CancelPending() override { return {}; }
  int in_flight() const override { return static_cast<int>(finished_.size()); }
  int capacity() const override { return 1; }
  TimeSplit time_split() const override;
  const DeviceFingerprint& device() const override { return device_; }
  double resolution() const override { return 0; }
  Result<std::vector<Trial>> Race(const std::vector<Candidate>& finalists,
                                  const RaceSettings& terms) override;

 private:
  Trial Measure(const Candidate& candidate, std::int64_t attempt) const;

  const TemplateRegistry& templates_;
  Clock& clock_;
  double seconds_;
  double start_seconds_;
  DeviceFingerprint device_;
  std::deque<Reply> finished_;
};

}  // namespace tilewright::measure
