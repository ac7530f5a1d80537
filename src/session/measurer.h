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

/// Command lines of the processes that build candidates and that run them here.
struct WorkerCommands {
  std::vector<std::string> build, run;
};

/// Runners on other machines; none: candidates run here.
struct Runners {
  std::vector<std::string> commands;                ///< of a shell, one for each runner
  std::optional<measure::RunnerIdentity> identity;  ///< common to all, after Connect

  bool elsewhere() const { return !commands.empty(); }
  /// Asks each runner for its device. `target`: "native" becomes the runners' own.
  /// Errors: those of measure::ProbeRunner; kInvalidArgument for runners of different devices,
  /// whose times cannot be compared.
  Status Connect(std::string& target);
};

/// Settings of a measurer that only builds. Nothing is calibrated; `device` is not set.
measure::ProcessMeasurerSettings BuilderSettings(const WorkerCommands& workers,
                                                 const Target& target);

/// Settings of a measurer for a target, here or on the connected runners. note: gets notes of the
/// measurer, also later and on its threads.
/// Errors: those of DeviceFor and DeviceChoice::Find; kInvalidArgument for a target that a runner
/// elsewhere cannot have (a VTA, whose simulator is here, and a GPU).
Result<measure::ProcessMeasurerSettings> MeasurerSettings(const WorkerCommands& workers,
                                                          const Target& target,
                                                          const Runners& runners,
                                                          const DeviceChoice& device,
                                                          const NoteSink& note);

}  // namespace tilewright::session
