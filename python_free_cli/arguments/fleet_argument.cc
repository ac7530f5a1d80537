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
#include "src/base/text/plural.h"
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

/// Whether devices of the class take orders of the open task, or of kernels if it is null.
bool Serves(const FleetClass& one, const OpenTask* program) {
  const std::vector<std::string>& listed = one.announcement.programs;
  return program == nullptr ? listed.empty()
                            : std::ranges::find(listed, program->key) != listed.end();
}

std::string NoDevice(const std::string& fleet, const OpenTask* program) {
  if (program == nullptr) {
    return "--fleet: found no device; start `tilewright worker --fleet " + fleet +
           "` on a machine that has one";
  }
  return "--fleet: no worker lists the program " + program->key +
         "; start `tilewright worker --fleet " + fleet +
         " --program JOB.json` with a job file that has the same space and commands";
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
                           ": neither an address (nats://host:4222) nor a readable file: " +
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
                 "Measure on a fleet: nats://host:4222, or a file that `tilewright fleet` wrote");
  app.add_option("--fleet-class", class_name_,
                 "Device class, if several match: as `tilewright fleet status` shows it");
  app.add_flag("--insecure", insecure_, kInsecureHelp);
  priority_option_ = app.add_option("--priority", priority_, "Priority among the jobs of the fleet")
                         ->check(CLI::IsMember({"low", "normal", "high"}));
  share_option_ = app.add_option("--share", share_,
                                 "Relative share of the fleet among jobs of the same priority")
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

Status FleetArgument::Connect(search::JobSettings& settings, const OpenTask* program) {
  TW_ASSIGN_OR_RETURN(address_, FleetAddress(settings.fleet));
  TW_RETURN_IF_ERROR(CheckBroker(address_, insecure_));
  TW_ASSIGN_OR_RETURN(broker_, fleet::Connect(address_, "tilewright tune"));
  // A worker that is starting calibrates for a second or two.
  constexpr double kAskSeconds = 0.7, kMaxSeconds = 20, kOthersSeconds = 2;
  std::vector<FleetClass> classes;
  SystemClock clock;
  const double began = clock.MonotonicSeconds();
  double until = began + kMaxSeconds;
  do {
    classes = FleetClasses(*broker_, kAskSeconds);
    if (!classes.empty()) until = began + kOthersSeconds;
    std::erase_if(classes, [program](const FleetClass& one) { return !Serves(one, program); });
  } while (classes.empty() && clock.MonotonicSeconds() < until);
  if (classes.empty()) return Unavailable(NoDevice(settings.fleet, program));
  const auto all = classes;
  if (!settings.fleet_class.empty()) {
    std::erase_if(classes, [&](const FleetClass& one) { return one.name != settings.fleet_class; });
  } else if (classes.size() > 1) {
    // The class of this machine, or of the simulator that the target names.
    auto target = Target::Parse(settings.target);
    auto device = target.ok() ? DeviceFor(*target) : Result<DeviceFingerprint>(ProbeHostCpu());
    std::erase_if(classes, [&](const FleetClass& one) {
      // The class of a program also depends on the other programs of its workers.
      if (device.ok() && program != nullptr) device->extra = one.device.extra;
      return !device.ok() || fleet::ClassOf(*device) != one.name;
    });
  }
  if (classes.size() != 1) {
    return InvalidArgument("--fleet-class: expected one of the available classes:" + Listed(all));
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

Json FleetJson(const measure::fleet::FleetMeasurer& fleet) {
  const auto counts = fleet.dispatcher().counts();
  Json json = {{"lost", counts.lost},
               {"late", counts.late},
               {"doubled", counts.duplicates},
               {"sent_again", counts.resent},
               {"refused", counts.refused},
               {"foreign", counts.foreign},
               {"revised", counts.revised},
               {"baselines", counts.baselines},
               {"checks", counts.checks},
               {"checks_failed", counts.checks_failed},
               {"rebuilt", counts.rebuilt},
               {"unconfirmed", counts.unconfirmed},
               {"took_workers_down", counts.poisoned},
               {"longest_loss_seconds", counts.longest_recovery_seconds}};
  json["winners"] = Json::array();
  for (const auto& one : fleet.confirmations()) {
    json["winners"].push_back({{"workload", one.workload},
                               {"confirmed", one.unconfirmed_reason.empty()},
                               {"doubt", one.unconfirmed_reason}});
  }
  return json;
}

void PrintFleet(const measure::fleet::FleetMeasurer& fleet) {
  std::map<std::string, int> unconfirmed_reasons;
  int confirmed = 0;
  for (const auto& one : fleet.confirmations()) {
    one.unconfirmed_reason.empty() ? ++confirmed : ++unconfirmed_reasons[one.unconfirmed_reason];
  }
  PrintOut("fleet: {} confirmed on a second device\n", Counted(confirmed, "winner"));
  for (const auto& [unconfirmed_reason, count] : unconfirmed_reasons)
    PrintOut("fleet: {} {}\n", count, unconfirmed_reason);
}

}  // namespace tilewright::cli
