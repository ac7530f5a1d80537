#pragma once

#include <deque>

#include "measure/measurer.h"
#include "src/base/clock.h"
#include "src/templates/registry.h"

namespace tilewright::measure {

/// Measurer without a device: every candidate of a known template takes the same time and is never
/// verified, so its trials are never served. This is the smallest complete Measurer: copy it to add
/// a device, and add that device to the table of tests/conformance.
class NullMeasurer final : public Measurer {
 public:
  /// seconds: reported time of every candidate. templates, clock: must outlive the measurer.
  NullMeasurer(const TemplateRegistry& templates, Clock& clock, double seconds);

  Status Submit(Request request) override;
  Result<std::optional<Reply>> Next(double timeout_seconds) override;
  /// Returns no tickets: submitted requests are finished at once.
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
