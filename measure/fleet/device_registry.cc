// Registry of a fleet's devices. A device is used while its heartbeats arrive; its baseline kernel
// scales its times and detects drift. A device whose baselines shift or whose results fail checks
// is excluded until it has recovered.

#include "measure/fleet/device_registry.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tilewright::measure::fleet {
namespace {

/// Returns the geometric mean of a's values divided by b's, over kernels that both have; 1 if there
/// are none.
double RatioOf(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] <= 0 || b[i] <= 0) continue;
    sum += std::log(a[i] / b[i]);
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : 1;
}

}  // namespace

bool DeviceRegistry::Refresh(const DeviceName& name, Announcement announcement, double now) {
  const auto [found, added] = devices_.try_emplace(name);
  Device& device = found->second;
  const bool anew = !added && device.announcement.instance != announcement.instance;
  if (anew) device = Device{};
  device.announcement = std::move(announcement);
  device.last_seen_at = now;
  // A device's first probe arrives with its first trial. It also serves the baseline that began
  // without a probe.
  if (device.probe_seconds == 0 && device.baseline_at > 0) {
    device.probe_seconds = device.announcement.probe_seconds;
  }
  if (added || anew) {
    device.first.assign(kernels_, 0);
    for (std::size_t i = 0; i < kernels_; ++i) device.wanted.insert(i);
  }
  return added || anew;
}

void DeviceRegistry::RefreshByHeartbeat(const DeviceName& name, const std::string& instance,
                                        double now) {
  const auto found = devices_.find(name);
  if (found != devices_.end() && found->second.announcement.instance == instance) {
    found->second.last_seen_at = now;
  }
}

std::vector<DeviceName> DeviceRegistry::Forget(double now) {
  std::vector<DeviceName> gone;
  for (const auto& [name, device] : devices_) {
    if (now - device.last_seen_at > settings_.offline_seconds) gone.push_back(name);
  }
  for (const DeviceName& name : gone) devices_.erase(name);
  return gone;
}

void DeviceRegistry::ExtendDeadlines(double seconds) {
  for (auto& [name, device] : devices_) device.last_seen_at += seconds;
}

const DeviceRegistry::Device* DeviceRegistry::Find(const DeviceName& name) const {
  const auto found = devices_.find(name);
  return found == devices_.end() ? nullptr : &found->second;
}

bool DeviceRegistry::IsUsable(const Device& device) {
  return device.announcement.measures && device.announcement.state == DeviceState::kReady &&
         device.excluded.empty();
}

int DeviceRegistry::measure_slots() const {
  int slots = 0;
  for (const auto& [name, device] : devices_) {
    if (IsUsable(device)) slots += device.announcement.measure_slots;
  }
  return slots;
}

void DeviceRegistry::AddKernel() {
  const std::size_t kernel = kernels_++;
  reference_.push_back(0);
  for (auto& [name, device] : devices_) {
    device.first.resize(kernels_, 0);
    device.wanted.insert(kernel);
  }
}

double DeviceRegistry::AllowedOf(const Device& device) const {
  return std::max(settings_.min_drift,
                  settings_.resolution_factor * device.announcement.resolution);
}

double DeviceRegistry::IntervalOf(const Device& device) const {
  const double probe = device.announcement.probe_seconds, before = device.probe_seconds;
  const bool moved =
      probe > 0 && before > 0 && std::abs(std::log(probe / before)) > std::log1p(AllowedOf(device));
  const double usual =
      std::clamp(device.cost_seconds / settings_.baseline_share, settings_.baseline_seconds,
                 std::max(settings_.baseline_seconds, settings_.max_baseline_seconds));
  if (!moved) return usual;
  return std::min(usual, std::max(settings_.shifted_baseline_seconds,
                                  device.cost_seconds / settings_.shifted_baseline_share));
}

std::vector<DeviceRegistry::BaselineRequest> DeviceRegistry::TakeBaselines(double now, bool built) {
  std::vector<BaselineRequest> due;
  if (kernels_ == 0) return due;
  for (auto& [name, device] : devices_) {
    const bool ready = device.announcement.measures &&
                       device.announcement.state == DeviceState::kReady &&
                       (device.announcement.builds || built);
    if (!ready) continue;
    if (device.wanted.empty() && device.now.empty() &&
        now - device.baseline_at >= IntervalOf(device)) {
      for (std::size_t i = 0; i < kernels_; ++i) device.wanted.insert(i);
    }
    if (device.wanted.empty()) continue;
    if (device.now.empty()) {
      device.baseline_at = now;
      device.cost_now = 0;
      // The current probe: a device that slows down during a baseline may have been normal at its
      // start.
      device.probe_seconds = device.announcement.probe_seconds;
    }
    device.now.resize(kernels_, 0);
    for (const std::size_t kernel : device.wanted) {
      device.now[kernel] = -1;  // in progress
      due.push_back({name, kernel});
    }
    device.wanted.clear();
  }
  return due;
}

void DeviceRegistry::RetryBaseline(const DeviceName& name, std::size_t kernel) {
  const auto found = devices_.find(name);
  if (found == devices_.end()) return;
  Device& device = found->second;
  if (kernel < device.now.size()) device.now[kernel] = 0;
  device.wanted.insert(kernel);
}

double DeviceRegistry::DriftOf(const Device& device) const {
  return RatioOf(device.now, device.first);
}

DeviceRegistry::BaselineResult DeviceRegistry::AddBaseline(const DeviceName& name,
                                                           std::size_t kernel, double value,
                                                           double cost, double now) {
  const auto found = devices_.find(name);
  if (found == devices_.end() || kernel >= kernels_) return BaselineResult::kNone;
  Device& device = found->second;
  device.now.resize(kernels_, 0);
  device.now[kernel] = value;
  device.cost_now += cost;
  if (reference_[kernel] == 0) reference_[kernel] = value;
  const bool under_way =
      !device.wanted.empty() || std::ranges::any_of(device.now, [](double v) { return v < 0; });
  if (under_way) return BaselineResult::kNone;
  const double drift = DriftOf(device);
  for (std::size_t i = 0; i < kernels_; ++i) {
    if (device.first[i] == 0) device.first[i] = device.now[i];
  }
  device.now.clear();
  device.cost_seconds = device.cost_now;
  const bool good = std::abs(std::log(drift)) <= std::log1p(AllowedOf(device));
  device.bad = good ? 0 : device.bad + 1;
  device.good = good ? device.good + 1 : 0;
  const auto once_more = [&] {
    for (std::size_t i = 0; i < kernels_; ++i) device.wanted.insert(i);
  };
  if (!device.excluded.empty()) {
    // at once, not after the usual interval
    if (good && device.good < settings_.good_in_row) once_more();
    if (!good || device.good < settings_.good_in_row) return BaselineResult::kNone;
    device.excluded.clear();
    device.good_at = now;
    return BaselineResult::kRecovered;
  }
  if (good) {
    device.good_at = now;
    return BaselineResult::kGood;
  }
  if (device.bad < settings_.bad_in_row) {
    once_more();
    return BaselineResult::kBad;
  }
  char text[96];
  std::snprintf(text, sizeof(text), "its baseline is %+.1f %% off what it was", 100 * (drift - 1));
  device.excluded = text;
  return BaselineResult::kDrifted;
}

void DeviceRegistry::Exclude(const DeviceName& name, std::string why) {
  const auto found = devices_.find(name);
  if (found != devices_.end()) found->second.excluded = std::move(why);
}

double DeviceRegistry::ScaleOf(const DeviceName& name) const {
  const Device* device = Find(name);
  if (device == nullptr) return 1;
  const double ratio = RatioOf(device->first, reference_);
  // Differences below the device's resolution are noise of the baseline.
  constexpr double kMinResolution = 0.01;
  const double told = std::max(kMinResolution, device->announcement.resolution);
  return std::abs(std::log(ratio)) <= std::log1p(told) ? 1 : ratio;
}

}  // namespace tilewright::measure::fleet
