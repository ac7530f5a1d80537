#pragma once

#include <deque>
#include <functional>

#include "measure/fleet/executor.h"
#include "src/base/clock.h"

namespace tilewright::measure::fleet {

/// Simulated device. Orders take their time one after the other, and the values of a candidate
/// follow from its config. For benchmarks, simulations and tests of a fleet.
class FakeExecutor final : public Executor {
 public:
  struct Settings {
    double seconds = 0.05;     ///< duration of a trial
    DeviceFingerprint device;  ///< fingerprint that it reports
    double noise = 0;          ///< relative noise of values; follows from config and order
    bool verified = false;     ///< whether it reports results as verified; only these can win races
    /// Factor on times at a given moment, to simulate a slow or drifting device. Empty: 1.
    std::function<double(double now)> slowness;
    bool probe = true;  ///< has an interference probe, which slows down with the device
    /// Duration of a trial by candidate, instead of `seconds`. Empty: `seconds`.
    std::function<double(const Candidate&)> takes;
  };
  /// clock: has to outlive the executor.
  FakeExecutor(Settings settings, Clock& clock) : settings_(std::move(settings)), clock_(clock) {}

  void Start(std::uint64_t number, const Order& order,
             const std::vector<std::string>& artifacts) override;
  void Drop(std::uint64_t number) override;
  std::vector<Event> Take() override;
  double next_event() const override;
  double probe_seconds() const override;

  /// Returns the seconds that a candidate takes by its config.
  static double ValueOf(const Candidate& candidate);
  /// Returns the fingerprint of the simulated device.
  static DeviceFingerprint Device();

 private:
  struct Work {
    std::uint64_t number;
    Order order;
    double seconds;
    double over_at;
  };
  Trial TrialOf(const Candidate& candidate, double now);
  Event BuildOf(const Candidate& candidate);

  const Settings settings_;
  Clock& clock_;
  std::deque<Work> works_;
  double free_at_ = 0;
  std::uint64_t trials_ = 0;
  bool ran_ = false;  // a trial: its interference probe is measured with it
};

}  // namespace tilewright::measure::fleet
