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

/// Energy counter of a device. Not thread-safe.
class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;
  /// Returns the joules since the counter was opened. Errors: kUnavailable naming the unreadable
  /// source.
  virtual Result<double> Joules() = 0;
  /// Returns the approximate update period of the counter, in seconds.
  virtual double update_period_seconds() const = 0;
};

/// Energy counter of all processor packages of this machine, by Linux RAPL (Intel and AMD). It
/// covers cores, caches and memory controllers, for all processes and while idle. It does not cover
/// memory chips.
class PowercapCounter final : public EnergyCounter {
 public:
  static constexpr const char* kFolder = "/sys/class/powercap";
  /// Errors: kUnsupported with a remedy if the folder contains no package, or one cannot be read.
  static Result<PowercapCounter> Open(const std::string& folder = kFolder);
  /// Call it at least once in each period of the counter (minutes), so that no overflow is missed.
  Result<double> Joules() override;
  double update_period_seconds() const override { return 1e-3; }

 private:
  struct Close {
    void operator()(const int* descriptor) const;
  };
  struct Package {
    std::string path;  ///< of its counter file
    std::unique_ptr<int, Close> descriptor;
    std::int64_t range = 0;  ///< microjoules at which the counter wraps
    std::int64_t last = 0;   ///< last value read
  };
  static Result<std::int64_t> Read(const Package& package);

  std::vector<Package> packages_;
  double joules_ = 0;
};

/// Waits until the counter advances. Errors: kUnavailable if it cannot be read, or does not advance
/// within 500 update periods.
Status CheckCounterAdvances(EnergyCounter& counter, Clock& clock);

/// Measures the joules of one call. Calls the kernel repeatedly for at least a tenth of a second
/// and several updates of the counter, then divides the increase between two updates by the calls
/// between them. Energy of other work on the device in that time is included. The error of the ends
/// is at most 2 % for calls of up to 20 ms. For longer calls it is the shorter one of a call and an
/// actual counter update, in a second. call_seconds: estimate of one call. Errors: kUnavailable if
/// the counter cannot be read or does not advance, or a call has failed.
Result<double> JoulesPerCall(Benchmarkable& benchmarkable, EnergyCounter& counter, Clock& clock,
                             double call_seconds);

/// Checks whether energy can be measured for a target on this machine: on its processor packages,
/// or on the GPU of `settings`. Errors: kUnsupported, with the missing source and a remedy.
Status CheckEnergyCounter(const Target& target, const RunWorkerSettings& settings);

}  // namespace tilewright::measure
