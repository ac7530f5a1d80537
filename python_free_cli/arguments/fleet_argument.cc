#include "python_free_cli/arguments/fleet_argument.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "measure/fleet/subjects.h"
#include "python_free_cli/arguments/fleet_security.h"
#include "python_free_cli/print.h"
#include "search/deadline.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

namespace fleet = measure::fleet;

/// Returns the user's name; "user" if the system has no name.
std::string OwnName() {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found);
  return found != nullptr && fleet::IsName(found->pw_name) ? found->pw_name : "user";
}

std::string Listed(const std::vector<FleetClass>& classes) {
  std::string text;
  for (const FleetClass& one : classes) {
    text += "\n  " + one.name + ": " + std::to_string(one.devices) + " of " + one.device.model;
  }
  return text;
}

double WeightOf(const search::JobSettings& settings) {
  constexpr double kStep = 4, kMin = 1e-3, kMax = 1e3;
  double weight = settings.share;
  if (settings.priority == "normal") weight *= kStep;
  if (settings.priority == "high") weight *= kStep * kStep;
  return std::clamp(weight, kMin, kMax);
}

}  // namespace

Result<fleet::Address> FleetAddress(const std::string& text) {
  fleet::Address address;
  if (text.find("://") != std::string::npos) {
    address.url = text;
    address.user = OwnName();
    return address;
  }
  constexpr std::int64_t kMaxBytes = 1 << 16;
  auto contents = ReadFile(text, kMaxBytes);
  if (!contents.ok()) {
    return InvalidArgument("--fleet: " + text +
                           ": neither an address (nats://host:4222) nor a file that has one: " +
                           contents.status().message());
  }
  auto json = ParseJson(*contents);
  if (!json.ok() || !json->is_object()) {
    return InvalidArgument(text + ":1: expected an object with \"url\" and \"user\"");
  }
  const std::map<std::string, std::string*> keys = {{"url", &address.url},
                                                    {"user", &address.user},
                                                    {"seed_file", &address.seed_file},
                                                    {"ca_file", &address.ca_file}};
  for (const auto& item : json->items()) {
    if (item.key() == "role" || item.key() == "class") continue;
    const auto found = keys.find(item.key());
    if (found == keys.end() || !item.value().is_string()) {
      return InvalidArgument(text + ": " + item.key() +
                             ": unknown key or no text, expected url, user, seed_file, ca_file");
    }
    *found->second = item.value().get<std::string>();
  }
  const auto folder = std::filesystem::path(text).parent_path();
  for (std::string* file : {&address.seed_file, &address.ca_file}) {
    if (!file->empty() && file->front() != '/') *file = (folder / *file).string();
  }
  if (address.url.empty())
    return InvalidArgument(text + ": url: missing, expected nats://host:4222");
  TW_RETURN_IF_ERROR(fleet::CheckName(text + ": user", address.user));
  return address;
}

std::vector<FleetClass> FleetClasses(fleet::Broker& broker, double seconds) {
  (void)broker.Subscribe("tw.here.*.*.*");
  (void)broker.Publish(fleet::kDiscoverySubject, "");
  SystemClock clock;
  std::map<std::string, FleetClass> classes;
  std::set<std::string> seen;
  for (const double until = clock.MonotonicSeconds() + seconds; clock.MonotonicSeconds() < until;) {
    const auto incoming = broker.Next(std::max(0.0, until - clock.MonotonicSeconds()));
    if (!incoming || !incoming->subject.starts_with("tw.here.")) continue;
    if (!fleet::HasNames(incoming->subject)) continue;
    const std::string name(fleet::SubjectToken(incoming->subject, 2));
    auto announcement = fleet::DecodeAnnouncement(incoming->payload);
    if (name == fleet::kBuilders || !announcement.ok() || !announcement->measures) continue;
    auto device = DeviceFingerprint::Parse(announcement->fingerprint);
    if (!device.ok() || fleet::ClassOf(*device) != name) continue;
    FleetClass& one = classes[name];
    one.name = name;
    one.announcement = *std::move(announcement);
    one.device = *std::move(device);
    if (seen.insert(incoming->subject).second) ++one.devices;
  }
  (void)broker.Unsubscribe("tw.here.*.*.*");
  std::vector<FleetClass> all;
  for (auto& [name, one] : classes) all.push_back(std::move(one));
  return all;
}

void FleetArgument::Declare(CLI::App& app) {
  app.add_option("--fleet", fleet_,
                 "Measure on the machines of a fleet: nats://host:4222, or a file that `tilewright "
                 "fleet` wrote");
  app.add_option("--fleet-class", class_name_,
                 "Class of the devices, where several fit: as `tilewright fleet status` shows it");
  app.add_flag("--insecure", insecure_, kInsecureHelp);
  priority_option_ = app.add_option("--priority", priority_, "Of a fleet's jobs: low, normal, high")
                         ->check(CLI::IsMember({"low", "normal", "high"}));
  share_option_ =
      app.add_option("--share", share_, "Part of the fleet beside other jobs of the same priority")
          ->check(CLI::Range(0.01, 100.0));
  app.add_option(
      "--broker-timeout", broker_timeout_,
      "Suspend the job if the broker is unreachable for this long; rerun the command to resume "
      "(default: 10m)");
}

Status FleetArgument::Into(search::JobSettings& settings) const {
  if (!fleet_.empty()) settings.fleet = fleet_;
  if (!class_name_.empty()) settings.fleet_class = class_name_;
  if (priority_option_->count() > 0) settings.priority = priority_;
  if (share_option_->count() > 0) settings.share = share_;
  if (broker_timeout_.empty()) return {};
  auto seconds = search::ParseDuration(broker_timeout_);
  if (!seconds.ok()) return seconds.status().WithContext("--broker-timeout");
  settings.broker_timeout_seconds = *seconds;
  return {};
}

Status FleetArgument::Connect(search::JobSettings& settings) {
  TW_ASSIGN_OR_RETURN(address_, FleetAddress(settings.fleet));
  TW_RETURN_IF_ERROR(CheckBroker(address_, insecure_));
  TW_ASSIGN_OR_RETURN(broker_, fleet::Connect(address_, "tilewright tune"));
  // A worker that is starting calibrates for a second or two.
  constexpr double kAskSeconds = 0.7, kMaxSeconds = 20;
  std::vector<FleetClass> classes;
  SystemClock clock;
  const double until = clock.MonotonicSeconds() + kMaxSeconds;
  do {
    classes = FleetClasses(*broker_, kAskSeconds);
  } while (classes.empty() && clock.MonotonicSeconds() < until);
  if (classes.empty()) {
    return Unavailable("--fleet: no device is there; start `tilewright worker --fleet " +
                       settings.fleet + "` on a machine that has one");
  }
  const auto all = classes;
  if (!settings.fleet_class.empty()) {
    std::erase_if(classes, [&](const FleetClass& one) { return one.name != settings.fleet_class; });
  } else if (classes.size() > 1) {
    // The class of this machine, or of the simulator that the target names.
    auto target = Target::Parse(settings.target);
    const auto device =
        target.ok() ? DeviceFor(*target) : Result<DeviceFingerprint>(ProbeHostCpu());
    const std::string own = device.ok() ? fleet::ClassOf(*device) : "";
    std::erase_if(classes, [&](const FleetClass& one) { return one.name != own; });
  }
  if (classes.size() != 1) {
    return InvalidArgument("--fleet-class: expected one of the classes that are there:" +
                           Listed(all));
  }
  class_ = classes.front();
  settings.fleet_class = class_.name;
  if (settings.target == "native") settings.target = class_.announcement.target;
  return {};
}

fleet::DispatcherSettings FleetArgument::Settings(const search::JobSettings& settings) const {
  fleet::DispatcherSettings made;
  std::error_code failed;
  const auto store = std::filesystem::absolute(settings.records, failed).string();
  // The same command resumes its job, under another epoch.
  const std::uint64_t id = Fnv1a64(store + "\n" + settings.graph + "\n" + settings.target + "\n" +
                                   std::to_string(settings.seed) + settings.strategy);
  made.job = {address_.user, HexOf(Mix64(id)).substr(0, 12)};
  constexpr double kMilliseconds = 1e3;
  made.epoch = static_cast<std::uint64_t>(SystemClock().UnixSeconds() * kMilliseconds);
  made.device_class = class_.name;
  made.device = class_.device;
  made.weight = WeightOf(settings);
  made.what = settings.graph;
  made.broker_timeout_seconds = settings.broker_timeout_seconds;
  const auto deadline = search::ParseDeadline(settings.deadline, SystemClock().UnixSeconds());
  if (deadline.ok()) made.deadline_unix_seconds = *deadline;
  made.on_note = [](const std::string& text) { PrintErr("fleet: {}\n", text); };
  return made;
}

}  // namespace tilewright::cli
