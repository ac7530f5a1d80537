#include "src/session/fleet/job_fleet.h"

#include <algorithm>
#include <filesystem>

#include "measure/fleet/device_registry.h"
#include "search/deadline.h"
#include "src/base/clock.h"
#include "src/base/hash.h"
#include "src/target/cpu.h"
#include "src/templates/device.h"

namespace tilewright::session {
namespace {

namespace fleet = measure::fleet;
using fleet::DeviceClass;

std::string Listed(const std::vector<DeviceClass>& classes) {
  std::string text;
  for (const DeviceClass& one : classes) {
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
bool Serves(const DeviceClass& one, const OpenTask* program) {
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

/// Waits until there are classes that serve the job, and returns them. A worker that is starting
/// calibrates for a second or two.
std::vector<DeviceClass> WaitForClasses(fleet::Broker& broker, const OpenTask* program) {
  constexpr double kAskSeconds = 0.7, kMaxSeconds = 20, kOthersSeconds = 2;
  std::vector<DeviceClass> classes;
  SystemClock clock;
  const double began = clock.MonotonicSeconds();
  double until = began + kMaxSeconds;
  do {
    classes = fleet::FindDeviceClasses(broker, kAskSeconds);
    if (!classes.empty()) until = began + kOthersSeconds;
    std::erase_if(classes, [program](const DeviceClass& one) { return !Serves(one, program); });
  } while (classes.empty() && clock.MonotonicSeconds() < until);
  return classes;
}

}  // namespace

Result<JobFleet> JobFleet::Connect(const fleet::Address& address, search::JobSettings& settings,
                                   const OpenTask* program) {
  JobFleet job;
  job.user_ = address.user;
  TW_ASSIGN_OR_RETURN(job.broker_, fleet::Connect(address, "tilewright tune"));
  std::vector<DeviceClass> classes = WaitForClasses(*job.broker_, program);
  if (classes.empty()) return Unavailable(NoDevice(settings.fleet, program));
  const auto all = classes;
  if (!settings.fleet_class.empty()) {
    std::erase_if(classes,
                  [&](const DeviceClass& one) { return one.name != settings.fleet_class; });
  } else if (classes.size() > 1) {
    // The class of this machine, or of the simulator that the target names.
    auto target = Target::Parse(settings.target);
    auto device = target.ok() ? DeviceFor(*target) : Result<DeviceFingerprint>(ProbeHostCpu());
    std::erase_if(classes, [&](const DeviceClass& one) {
      // The class of a program also depends on the other programs of its workers.
      if (device.ok() && program != nullptr) device->extra = one.device.extra;
      return !device.ok() || fleet::ClassOf(*device) != one.name;
    });
  }
  if (classes.size() != 1) {
    return InvalidArgument("--fleet-class: expected one of the available classes:" + Listed(all));
  }
  job.class_ = std::move(classes.front());
  settings.fleet_class = job.class_.name;
  if (settings.target == "native") settings.target = job.class_.announcement.target;
  return job;
}

fleet::DispatcherSettings JobFleet::DispatcherFor(const search::JobSettings& settings,
                                                  NoteSink note) const {
  fleet::DispatcherSettings made;
  std::error_code failed;
  const auto store = std::filesystem::absolute(settings.records, failed).string();
  const std::uint64_t id = Fnv1a64(store + "\n" + settings.graph + "\n" + settings.target + "\n" +
                                   std::to_string(settings.seed) + settings.strategy);
  made.job = {user_, HexOf(Mix64(id)).substr(0, 12)};
  constexpr double kMilliseconds = 1e3;
  made.epoch = static_cast<std::uint64_t>(SystemClock().UnixSeconds() * kMilliseconds);
  made.device_class = class_.name;
  made.device = class_.device;
  made.weight = WeightOf(settings);
  made.what = settings.graph;
  made.broker_timeout_seconds = settings.broker_timeout_seconds;
  const auto deadline = search::ParseDeadline(settings.deadline, SystemClock().UnixSeconds());
  if (deadline.ok()) made.deadline_unix_seconds = *deadline;
  made.on_note = std::move(note);
  return made;
}

}  // namespace tilewright::session
