#pragma once

#include <optional>
#include <string>

#include "measure/supervisor/process_measurer.h"
#include "measure/supervisor/runner_address.h"
#include "python_free_cli/arguments/device_argument.h"
#include "src/target/target.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

struct Registries;

/// `--runner`: where candidates run, if not here.
struct RunnerArguments {
  std::vector<std::string> commands;  ///< of a shell, one for each runner; empty: here
  std::optional<measure::RunnerIdentity> identity;  ///< of all of them

  void Declare(CLI::App& app);
  bool elsewhere() const { return !commands.empty(); }
  /// Asks the runners, if there are any, what they are. `target`: "native" becomes their own.
  /// Errors: those of measure::ProbeRunner; kInvalidArgument for runners of different devices,
  /// whose times could not be compared.
  Status Connect(std::string& target);
};

/// What a measurer needs that only builds: the words that start this program's builders, with its
/// plugins. Nothing is calibrated; `device` is not set.
measure::ProcessMeasurerSettings BuilderSettings(const Registries& registries,
                                                 const Target& target);

/// A measurer for a target whose workers are this program again, with its plugins, or the runner
/// that is connected. Errors: those of DeviceFor and DeviceArgument::Find; kInvalidArgument for a
/// target that a runner elsewhere cannot have (a VTA, whose simulator is here, and a GPU).
Result<measure::ProcessMeasurerSettings> MeasurerSettings(const Registries& registries,
                                                          const Target& target,
                                                          const RunnerArguments& runner = {},
                                                          const DeviceArgument& device = {});

}  // namespace tilewright::cli
