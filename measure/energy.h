#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/sampling.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright::measure {

struct RunWorkerSettings;

/// Energy that a device takes, as it counts it. Not thread-safe.
class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;
  /// Joules since it was opened. Errors: kUnavailable naming what cannot be read any more.
  virtual Result<double> Joules() = 0;
  /// About how often the number changes, in seconds.
  virtual double update_period_seconds() const = 0;
};

/// All processor packages of this machine, by RAPL as Linux tells it (of Intel's and AMD's
/// processors): cores, caches, memory controllers, whoever uses them, and what they take when idle.
/// Memory chips are not in it.
class PowercapCounter final : public EnergyCounter {
 public:
  static constexpr const char* kFolder = "/sys/class/powercap";
  /// Errors: kUnsupported if there is no package in the folder, or one cannot be read; it says what
  /// to do.
  static Result<PowercapCounter> Open(const std::string& folder = kFolder);
  /// To be called again before a counter has gone round more than once (minutes).
  Result<double> Joules() override;
  double update_period_seconds() const override { return 1e-3; }

 private:
  struct Close {
    void operator()(const int* descriptor) const;
  };
  struct Package {
    std::string path;  ///< of its counter
    std::unique_ptr<int, Close> descriptor;
    std::int64_t range = 0;  ///< microjoules at which it begins again
    std::int64_t last = 0;   ///< what it said
  };
  static Result<std::int64_t> Read(const Package& package);

  std::vector<Package> packages_;
  double joules_ = 0;
};

/// Waits until the counter makes a step.
/// Errors: kUnavailable if it cannot be read or stands still, for 500 times as long as a step.
Status CheckCounterAdvances(EnergyCounter& counter, Clock& clock);

/// Joules of one call of the subject: it is called again and again, for a tenth of a second at
/// least and some steps of the counter, and what the counter has grown by between two of its steps
/// is divided by the calls between them. What else runs on the device meanwhile is in it. The ends
/// are off by 2 % at most where calls take up to 20 ms; of longer ones by the shorter one of a call
/// and a real step of the counter, in a second.
/// call_seconds: estimate of one call.
/// Errors: kUnavailable if the counter cannot be read or stands still, or a call has failed.
Result<double> JoulesPerCall(Benchmarkable& benchmarkable, EnergyCounter& counter, Clock& clock,
                             double call_seconds);

/// Whether joules can be counted for a target on this machine: of its processor packages, or of the
/// GPU of `settings`.
/// Errors: kUnsupported, with what was looked for and what to do.
Status CheckEnergyCounter(const Target& target, const RunWorkerSettings& settings);

}  // namespace tilewright::measure
