#pragma once

#include <deque>
#include <functional>

#include "measure/fleet/executor.h"
#include "src/base/clock.h"

namespace tilewright::measure::fleet {

/// A device that is not there: each order takes its time, one after the other, and what a candidate
/// is said to take follows from its config. For benchmarks, simulations and tests of a fleet.
class FakeExecutor final : public Executor {
 public:
  struct Settings {
    double seconds = 0.05;     ///< a trial takes
    DeviceFingerprint device;  ///< what it says it is
    double noise = 0;          ///< relative, of values; follows from config and order
    bool verified = false;     ///< what it says of its results: only then may they win races
    /// What times are multiplied by at a moment: a device that is slower, or becomes so. Empty: 1.
    std::function<double(double now)> slowness;
    bool probe = true;  ///< it has one, which is slower when it is
    /// A trial's own time instead of `seconds`. Empty: as above.
    std::function<double(const Candidate&)> takes;
  };
  /// clock: outlives it.
  FakeExecutor(Settings settings, Clock& clock) : settings_(std::move(settings)), clock_(clock) {}

  void Start(std::uint64_t number, const Order& order,
             const std::vector<std::string>& artifacts) override;
  void Drop(std::uint64_t number) override;
  std::vector<Event> Take() override;
  double next_event() const override;
  double probe_seconds() const override;

  /// Seconds that a candidate is said to take.
  static double ValueOf(const Candidate& candidate);
  /// The made-up device.
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
  bool ran_ = false;  // a trial: its canary is measured beside it
};

}  // namespace tilewright::measure::fleet
