#pragma once

#include <optional>
#include <string>

#include "measure/program/program_measurer.h"
#include "src/base/status.h"
#include "src/session/open_task.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Options of `tune` for an open task (docs/howto-open.md).
class OpenArgument {
 public:
  void Declare(CLI::App& app);
  /// Completes the options by those of a job file, and resets the settings.
  void Take(search::JobSettings& settings);
  /// Whether the job tunes a program of the user.
  bool given() const { return !texts_.space.empty(); }
  /// Reads the task. Errors: those of session::LoadOpenTask; kInvalidArgument for options that an
  /// open task does not have.
  Result<OpenTask> Load() const;
  /// Errors: kInvalidArgument for options of open tasks without --space.
  Status CheckUnused() const;
  /// Reads the environment of the job, and gives `settings` its canonical text.
  /// Errors: those of ParseEnvironment; kInvalidArgument for a job on a fleet.
  Status ReadEnvironment(search::JobSettings& settings);
  measure::ProgramMeasurerSettings Settings() const;

 private:
  CLI::App* app_ = nullptr;
  session::OpenTaskTexts texts_;
  std::string environment_;
  std::optional<DeviceFingerprint> device_;  // of the environment
  double time_limit_ = 60, build_limit_ = 600;
};

}  // namespace tilewright::cli
