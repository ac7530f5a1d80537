#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/fleet/wire.h"

namespace tilewright::measure::fleet {

/// The devices of a job's class as its tuner knows them: who is there, how fast each is by the
/// job's baseline kernels, and which drift. Times of two devices are compared only by what both
/// made of those. Knows no clock. Not thread-safe.
class DeviceRegistry {
 public:
  struct Settings {
    double offline_seconds = 7;  ///< without a word: it is not there any more
    /// Between two baselines of a device. Within these bounds they take `baseline_share` of its
    /// time: what takes seconds is not measured every minute.
    double baseline_seconds = 60, max_baseline_seconds = 300;
    double baseline_share = 0.02;
    /// The same where its canary says that it is not as it was at the last one.
    double shifted_baseline_seconds = 30, shifted_baseline_share = 0.1;
    double min_drift = 0.03;       ///< less is nothing, whatever the resolution
    double resolution_factor = 2;  ///< a device drifts beyond so many times its resolution
    int bad_in_row = 2;            ///< baselines that say so
    int good_in_row = 2;           ///< ... until one that was set aside is taken again
  };

  struct Device {
    Announcement announcement;
    double last_seen_at = 0;
    std::vector<double> first;     ///< values of the baseline kernels when it joined; 0: unknown
    double baseline_at = 0;        ///< the last one began then
    double good_at = 0;            ///< the last good one was made then; 0: never
    int bad = 0, good = 0;         ///< in a row
    std::string excluded;          ///< why its times do not count; empty: they do
    std::set<std::size_t> wanted;  ///< baseline kernels that are to be measured now
    std::vector<double> now;       ///< values of the baseline under way
    double cost_seconds = 0;       ///< of the device's time, that the last one took
    double cost_now = 0;           ///< ... that the one under way has taken
    double probe_seconds = 0;      ///< of the canary as the last one began, or next; 0: unknown
  };

  explicit DeviceRegistry(const Settings& settings) : settings_(settings) {}

  /// A device says that it is there. returns true if it is new, or another process than before.
  bool Refresh(const DeviceName& name, Announcement announcement, double now);
  /// A process of a device speaks for its leases: it is there as well, if it was.
  void RefreshByHeartbeat(const DeviceName& name, const std::string& instance, double now);
  /// Those that have said nothing for long are forgotten. returns them.
  std::vector<DeviceName> Forget(double now);
  void Remove(const DeviceName& name) { devices_.erase(name); }
  /// As Settings says for devices that were not heard while nobody listened.
  void ExtendDeadlines(double seconds);
  const std::map<DeviceName, Device>& devices() const { return devices_; }
  const Device* Find(const DeviceName& name) const;

  /// Ready, and its times count.
  static bool IsUsable(const Device& device);
  /// Orders that all devices together take at a time.
  int measure_slots() const;

  /// There is one more baseline kernel: every device is to measure it.
  void AddKernel();
  std::size_t kernels() const { return kernels_; }
  /// A baseline kernel that a device is to measure.
  struct BaselineRequest {
    DeviceName device;
    std::size_t kernel = 0;
  };
  /// Those that are to be measured now, and are being measured from then on. built: devices that
  /// cannot build may have them, too.
  std::vector<BaselineRequest> TakeBaselines(double now, bool built);
  /// It was not measured after all: again.
  void RetryBaseline(const DeviceName& name, std::size_t kernel);

  enum class BaselineResult : std::uint8_t {
    kNone,       ///< there is more to be measured
    kGood,       ///< as it was
    kBad,        ///< not as it was: once more, at once
    kDrifted,    ///< it is set aside from now on
    kRecovered,  ///< it was set aside, and is as it was again
  };
  /// value: seconds of the kernel; cost: seconds of the device's time that measuring it took.
  BaselineResult AddBaseline(const DeviceName& name, std::size_t kernel, double value, double cost,
                             double now);
  void Exclude(const DeviceName& name, std::string why);

  /// What a time of the device is divided by to be one of the device that joined first; 1 where
  /// that is not known.
  double ScaleOf(const DeviceName& name) const;

 private:
  double DriftOf(const Device& device) const;
  /// Relative difference from which on a device is not as it was.
  double AllowedOf(const Device& device) const;
  /// Between two baselines of it.
  double IntervalOf(const Device& device) const;

  const Settings settings_;
  std::map<DeviceName, Device> devices_;
  std::size_t kernels_ = 0;
  std::vector<double> reference_;  // values of the device that measured each kernel first
};

}  // namespace tilewright::measure::fleet
