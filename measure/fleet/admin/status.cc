#include "measure/fleet/admin/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/fleet/device_registry.h"
#include "measure/fleet/subjects.h"
#include "src/base/clock.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"

namespace tilewright::measure::fleet {
namespace {

template <typename T>
void AddSeen(const std::string& name, const std::string& device_class, T announcement, double now,
             std::map<std::string, FleetStatus::Seen<T>>& all) {
  auto [found, added] = all.try_emplace(name);
  if (added) found->second = {device_class, announcement, announcement, now, now};
  found->second.last = std::move(announcement);
  found->second.last_at = now;
}

void AddDevice(const BrokerEvent& event, const std::string& device_class, double now,
               FleetStatus& status) {
  const std::string name = SenderOf(event.subject).ToString();
  auto announcement = DecodeAnnouncement(event.payload);
  if (announcement.ok()) {
    status.builders = status.builders || device_class == kBuilders;
    return AddSeen(name, device_class, *std::move(announcement), now, status.devices);
  }
  constexpr std::size_t kMaxOthers = 100;
  const std::string other = name + ": " + announcement.status().message();
  const bool more = status.others.size() < kMaxOthers;
  if (more && std::ranges::find(status.others, other) == status.others.end()) {
    status.others.push_back(Printable(other));
  }
}

void AddJob(const BrokerEvent& event, const std::string& device_class, double now,
            FleetStatus& status) {
  auto state = DecodeJobAnnouncement(event.payload);
  if (!state.ok() || device_class == kBuilders) return;
  const std::string name = std::string(SubjectToken(event.subject, 3)) + "." +
                           std::string(SubjectToken(event.subject, 4));
  AddSeen(name, device_class, *std::move(state), now, status.jobs);
}

}  // namespace

std::vector<std::string> FleetStatus::ClassesWithoutBuilder() const {
  if (builders) return {};
  std::map<std::string, int> measure_only;
  for (const auto& [name, device] : devices) {
    if (device.last.measures && !device.last.builds) ++measure_only[device.device_class];
  }
  std::vector<std::string> problems;
  for (const auto& [device_class, count] : measure_only) {
    std::string waiting;
    for (const auto& [name, job] : jobs) {
      if (job.device_class != device_class) continue;
      waiting += (waiting.empty() ? "; waiting: job " : ", ") + name;
    }
    problems.push_back(
        fmt::format("class {}: {} only measure{}, and there is no builder (start "
                    "`tilewright worker --build`){}",
                    device_class, Counted(count, "device"), count == 1 ? "s" : "", waiting));
  }
  return problems;
}

Status SubscribeToStatus(Broker& broker) {
  TW_RETURN_IF_ERROR(broker.Subscribe("tw.here.>"));
  return broker.Subscribe("tw.job.>");
}

FleetStatus ReceiveStatus(Broker& broker, double seconds) {
  FleetStatus status;
  SystemClock clock;
  (void)broker.Publish(kDiscoverySubject, "");
  // A rate needs two announcements of a device, which are sent every two seconds. A second request
  // near the end yields the second one.
  constexpr double kAnswerSeconds = 0.4;
  const double until = clock.MonotonicSeconds() + seconds;
  double ask_at = until - std::min(kAnswerSeconds, seconds / 2);
  while (clock.MonotonicSeconds() < until) {
    if (clock.MonotonicSeconds() >= ask_at) {
      (void)broker.Publish(kDiscoverySubject, "");
      ask_at = until;
    }
    const auto incoming = broker.Next(std::max(0.0, ask_at - clock.MonotonicSeconds()));
    if (!incoming || incoming->kind != BrokerEvent::Kind::kMessage) continue;
    if (!HasNames(incoming->subject)) continue;
    const double now = clock.MonotonicSeconds();
    const std::string device_class(SubjectToken(incoming->subject, 2));
    if (incoming->subject.starts_with("tw.here.")) {
      AddDevice(*incoming, device_class, now, status);
    } else if (incoming->subject.starts_with("tw.job.")) {
      AddJob(*incoming, device_class, now, status);
    }
  }
  return status;
}

std::vector<DeviceClass> FindDeviceClasses(Broker& broker, double seconds) {
  (void)broker.Subscribe("tw.here.*.*.*");
  (void)broker.Publish(kDiscoverySubject, "");
  SystemClock clock;
  std::map<std::string, DeviceClass> classes;
  std::set<std::string> seen;
  for (const double until = clock.MonotonicSeconds() + seconds; clock.MonotonicSeconds() < until;) {
    const auto incoming = broker.Next(std::max(0.0, until - clock.MonotonicSeconds()));
    if (!incoming || !incoming->subject.starts_with("tw.here.")) continue;
    if (!HasNames(incoming->subject)) continue;
    const std::string name(SubjectToken(incoming->subject, 2));
    auto announcement = DecodeAnnouncement(incoming->payload);
    if (name == kBuilders || !announcement.ok() || !announcement->measures) continue;
    auto device = DeviceFingerprint::Parse(announcement->fingerprint);
    if (!device.ok() || ClassOf(*device) != name) continue;
    DeviceClass& one = classes[name];
    one.name = name;
    one.announcement = *std::move(announcement);
    one.device = *std::move(device);
    if (seen.insert(incoming->subject).second) ++one.devices;
  }
  (void)broker.Unsubscribe("tw.here.*.*.*");
  std::vector<DeviceClass> all;
  for (auto& [name, one] : classes) all.push_back(std::move(one));
  return all;
}

}  // namespace tilewright::measure::fleet
