// Settings of measurers: command lines of workers, the device of a target, notes.

#include "src/session/measurer.h"

#include <filesystem>
#include <utility>

#include "src/base/format_printable.h"
#include "src/session/device_support.h"
#include "src/session/user_paths.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/device.h"

namespace tilewright::session {
namespace {

/// own: target string of the runner. Errors: kInvalidArgument for code of another kind of
/// processor.
Status CheckRunsThere(const Target& target, const std::string& own) {
  TW_ASSIGN_OR_RETURN(auto board, Target::Parse(own));
  const std::string code = ArchitectureOf(target), there = ArchitectureOf(board);
  if (code == there) return {};
  const bool narrower = code == "arm" && there == "aarch64";
  return InvalidArgument("target: code for " + code + ", but the runner is on " + there +
                         (narrower ? ", expected a runner of 32 bits there" : ""));
}

/// Errors: kInvalidArgument for code of another kind of processor.
Status CheckRunsHere(const Target& target) {
  if (!DeviceTraitsOf(target).machine_code || ArchitectureOf(target) == HostArchitecture())
    return {};
  return InvalidArgument("runner: code for " + target.Option("mtriple") +
                         " does not run on this machine, expected a runner such as " +
                         "'ssh board tilewright-runner'");
}

/// Returns the path of the file of probe baselines, in the folder of the user's store; empty
/// without a home.
std::string ProbeBaselineFile() {
  const auto paths = FindUserPaths();
  if (!paths.ok()) return {};
  const auto folder = std::filesystem::path(paths->records).parent_path();
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  return failed ? std::string() : (folder / "quiet.json").string();
}

}  // namespace

Status Runners::Connect(std::string& target) {
  if (!elsewhere()) return {};
  for (const std::string& command : commands) {
    auto asked = measure::ProbeRunner(command);
    if (!asked.ok()) return asked.status().WithContext("runner");
    if (identity.has_value() && identity->device != asked->device) {
      return InvalidArgument(
          "runner: '" + command + "' is " + asked->device.ToString() + ", the one before is " +
          identity->device.ToString() +
          "; expected runners of one device: times of others cannot be compared");
    }
    identity = *std::move(asked);
  }
  if (target == "native") target = identity->target;
  return {};
}

measure::ProcessMeasurerSettings BuilderSettings(const WorkerCommands& workers,
                                                 const Target& target) {
  measure::ProcessMeasurerSettings settings;
  settings.counts = IsSimulated(target);
  settings.runner.calibrate = false;
  settings.build_command = workers.build;
  settings.run_commands = {workers.run};
  return settings;
}

Result<measure::ProcessMeasurerSettings> MeasurerSettings(const WorkerCommands& workers,
                                                          const Target& target,
                                                          const Runners& runners,
                                                          const DeviceChoice& device,
                                                          const NoteSink& note) {
  measure::ProcessMeasurerSettings settings = BuilderSettings(workers, target);
  const DeviceSupport* support = DeviceSupportOf(target);
  if (support != nullptr && support->find != nullptr) {
    TW_RETURN_IF_ERROR(support->find(target, device, settings));
  } else {
    TW_ASSIGN_OR_RETURN(settings.device, DeviceFor(target));
  }
  settings.runner.calibrate = DeviceTraitsOf(target).machine_code;  // its loop runs on a CPU
  settings.on_unprotected = [note](const std::string& why) {
    note(FormatPrintable("note: {}; see docs/measuring.md", why));
  };
  if (!runners.identity.has_value()) {
    TW_RETURN_IF_ERROR(CheckRunsHere(target));
    settings.on_core_shared = [note](const std::string& why) {
      note(FormatPrintable("note: {}", why));
    };
    settings.runner.probe_baseline_file = ProbeBaselineFile();
    return settings;
  }
  if (support != nullptr && *support->only_here != '\0') {
    return InvalidArgument("runner: " + std::string(support->only_here));
  }
  TW_RETURN_IF_ERROR(CheckRunsThere(target, runners.identity->target));
  settings.remote = true;
  settings.on_lost = [note](const std::string& why, double seconds) {
    if (seconds == measure::kNoReconnect) {
      return note(FormatPrintable("a runner was lost: {}; the others go on without it", why));
    }
    note(FormatPrintable("the runner was lost: {}; called again in {:.1f} s", why, seconds));
  };
  settings.device = runners.identity->device;
  settings.run_commands.clear();
  for (const std::string& command : runners.commands) {
    settings.run_commands.push_back(measure::RunnerCommand(command));
  }
  constexpr std::int64_t kBoardCacheBytes = std::int64_t{128} << 20;
  settings.runner.cache_bytes = kBoardCacheBytes;
  return settings;
}

}  // namespace tilewright::session
