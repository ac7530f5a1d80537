#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/supervisor/process_measurer.h"
#include "measure/supervisor/runner_address.h"
#include "src/base/status.h"
#include "src/session/device_choice.h"
#include "src/session/notes.h"
#include "src/target/target.h"

namespace tilewright::session {

/// Command lines of builders and local runners.
struct WorkerCommands {
  std::vector<std::string> build, run;
};

/// Runners on other machines; empty: candidates run on this machine.
struct Runners {
  std::vector<std::string> commands;                ///< shell commands, one for each runner
  std::optional<measure::RunnerIdentity> identity;  ///< common to all, after Connect

  bool elsewhere() const { return !commands.empty(); }
  /// Queries each runner for its device. `target`: "native" becomes the runners' target.
  /// Errors: those of measure::ProbeRunner; kInvalidArgument for runners of different devices,
  /// whose times cannot be compared.
  Status Connect(std::string& target);
};

/// Returns settings of a measurer that only builds. Nothing is calibrated; `device` is not set.
measure::ProcessMeasurerSettings BuilderSettings(const WorkerCommands& workers,
                                                 const Target& target);

/// Returns settings of a measurer for a target, on this machine or on the connected runners. note:
/// receives notes of the measurer, also later and on the measurer's threads.
/// Errors: those of DeviceFor and DeviceChoice::Find; kInvalidArgument for a target that a remote
/// runner does not support (a VTA, which is simulated in this program, and a GPU).
Result<measure::ProcessMeasurerSettings> MeasurerSettings(const WorkerCommands& workers,
                                                          const Target& target,
                                                          const Runners& runners,
                                                          const DeviceChoice& device,
                                                          const NoteSink& note);

}  // namespace tilewright::session
