#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/fleet/wire.h"

namespace tilewright::measure::fleet {

/// Registry of the devices of a job's class, on the tuner's side: which are online, how fast each
/// measures the job's baseline kernels, and which drift. Times of two devices are compared only
/// after scaling by their baselines. Callers pass the time; the registry reads no clock. Not
/// thread-safe.
class DeviceRegistry {
 public:
  struct Settings {
    double offline_seconds = 7;  ///< a device without messages for this long is offline
    /// Seconds between two baselines of a device. Within these bounds, baselines take
    /// `baseline_share` of the device's time; slow kernels are therefore measured less often.
    double baseline_seconds = 60, max_baseline_seconds = 300;
    double baseline_share = 0.02;
    /// The same if the interference probe differs from the one at the last baseline.
    double shifted_baseline_seconds = 30, shifted_baseline_share = 0.1;
    double min_drift = 0.03;       ///< smaller differences are not drift, whatever the resolution
    double resolution_factor = 2;  ///< a device drifts beyond this multiple of its resolution
    int bad_in_row = 2;            ///< consecutive bad baselines until a device is excluded
    int good_in_row = 2;           ///< consecutive good baselines until it is included again
  };

  struct Device {
    Announcement announcement;
    double last_seen_at = 0;
    std::vector<double> first;     ///< baseline values when the device joined; 0: unknown
    double baseline_at = 0;        ///< start of the last baseline
    double good_at = 0;            ///< time of the last good baseline; 0: never
    int bad = 0, good = 0;         ///< consecutive baselines
    std::string excluded;          ///< why its times do not count; empty: they count
    std::set<std::size_t> wanted;  ///< baseline kernels to measure now
    std::vector<double> now;       ///< values of the baseline in progress
    double cost_seconds = 0;       ///< device time of the last baseline
    double cost_now = 0;           ///< device time of the one in progress so far
    double probe_seconds = 0;      ///< interference probe at the start of the last or next
                                   ///< baseline; 0: unknown
  };

  explicit DeviceRegistry(const Settings& settings) : settings_(settings) {}

  /// Adds or updates a device from its announcement. Returns true if the device is new, or if its
  /// process was replaced.
  bool Refresh(const DeviceName& name, Announcement announcement, double now);
  /// Marks a known device as online, from a heartbeat of one of its processes.
  void RefreshByHeartbeat(const DeviceName& name, const std::string& instance, double now);
  /// Removes devices without recent messages, and returns them.
  std::vector<DeviceName> Forget(double now);
  void Remove(const DeviceName& name) { devices_.erase(name); }
  /// Extends the offline deadlines by `seconds`, after a time in which the tuner received nothing.
  void ExtendDeadlines(double seconds);
  const std::map<DeviceName, Device>& devices() const { return devices_; }
  const Device* Find(const DeviceName& name) const;

  /// Returns whether the device is ready and its times count.
  static bool IsUsable(const Device& device);
  /// Returns the number of orders that all devices together hold at a time.
  int measure_slots() const;

  /// Adds a baseline kernel that every device has to measure.
  void AddKernel();
  std::size_t kernels() const { return kernels_; }
  /// Baseline kernel that a device has to measure.
  struct BaselineRequest {
    DeviceName device;
    std::size_t kernel = 0;
  };
  /// Returns the due requests and marks them as in progress. built: true includes devices that
  /// cannot build.
  std::vector<BaselineRequest> TakeBaselines(double now, bool built);
  /// Requests the kernel again, because it was not measured.
  void RetryBaseline(const DeviceName& name, std::size_t kernel);

  enum class BaselineResult : std::uint8_t {
    kNone,       ///< more kernels remain to be measured
    kGood,       ///< within the allowed difference
    kBad,        ///< beyond the allowed difference: is repeated at once
    kDrifted,    ///< the device is excluded from now on
    kRecovered,  ///< an excluded device measured as before and is included again
  };
  /// Records the value of a baseline kernel. value: seconds of the kernel; cost: device seconds of
  /// the measurement.
  BaselineResult AddBaseline(const DeviceName& name, std::size_t kernel, double value, double cost,
                             double now);
  void Exclude(const DeviceName& name, std::string why);

  /// Returns the divisor that converts a time of this device to one of the device that joined
  /// first; 1 if unknown.
  double ScaleOf(const DeviceName& name) const;

 private:
  double DriftOf(const Device& device) const;
  /// Returns the relative difference beyond which a baseline is bad.
  double AllowedOf(const Device& device) const;
  /// Returns the seconds between two baselines of the device.
  double IntervalOf(const Device& device) const;

  const Settings settings_;
  std::map<DeviceName, Device> devices_;
  std::size_t kernels_ = 0;
  std::vector<double> reference_;  // values of the device that measured each kernel first
};

}  // namespace tilewright::measure::fleet
