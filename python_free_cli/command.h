#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/plugins/registries.h"

namespace CLI {
class App;
}
namespace tilewright {
class TemplateRegistry;
namespace plugins {
struct Registries;
}
}  // namespace tilewright

namespace tilewright::cli {

/// Exit codes of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;    ///< the work failed (a result differs, a device is gone)
inline constexpr int kExitBadInput = 2;  ///< bad usage or bad input
inline constexpr int kExitSignal = 128;  ///< plus the signal's number: stopped by it (130, 143)

/// One subcommand: declares its arguments, then runs once with their values in its members.
class Command {
 public:
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual const char* summary() const = 0;
  /// Lines of "Examples:" under --help.
  virtual const char* examples() const { return ""; }
  virtual bool hidden() const { return false; }
  virtual void Declare(CLI::App& app) = 0;
  /// Runs the command and returns the exit code. A Status is printed to standard error and becomes
  /// kExitBadInput, or kExitFailed for kUnavailable and kInternal.
  virtual Result<int> Run() = 0;

  /// Sets the registries. Required before Run; they outlive the command.
  void Use(const plugins::Registries& registries) { registries_ = &registries; }

 protected:
  /// Only for Run: the registries are not set while arguments are declared.
  const plugins::Registries& registries() const;
  const TemplateRegistry& templates() const;

 private:
  const plugins::Registries* registries_ = nullptr;
};

/// Returns every subcommand, in the order of --help. A new command takes a new file and a line
/// here.
std::vector<std::unique_ptr<Command>> AllCommands();

std::unique_ptr<Command> MakeInspectCommand();
std::unique_ptr<Command> MakeTasksCommand();
std::unique_ptr<Command> MakeModelCommand();
std::unique_ptr<Command> MakeQuantizeCommand();
std::unique_ptr<Command> MakePackCommand();
std::unique_ptr<Command> MakeSpaceCommand();
std::unique_ptr<Command> MakeLowerCommand();
std::unique_ptr<Command> MakeTuneCommand();
std::unique_ptr<Command> MakeQueryCommand();
std::unique_ptr<Command> MakeCompileCommand();
std::unique_ptr<Command> MakeOptimizeCommand();
std::unique_ptr<Command> MakeRunCommand();
std::unique_ptr<Command> MakeBenchCommand();
std::unique_ptr<Command> MakeVerifyCommand();
std::unique_ptr<Command> MakeRecordsCommand();
std::unique_ptr<Command> MakePackageCommand();
std::unique_ptr<Command> MakeReportCommand();
std::unique_ptr<Command> MakeTrainCommand();
std::unique_ptr<Command> MakeReplayCommand();
std::unique_ptr<Command> MakeRunnerCommand();
std::unique_ptr<Command> MakeWorkerCommand();
std::unique_ptr<Command> MakeFleetCommand();
std::unique_ptr<Command> MakeDoctorCommand();
std::unique_ptr<Command> MakeTargetsCommand();
std::unique_ptr<Command> MakeVersionCommand();
std::unique_ptr<Command> MakeMeasureCommand();  // one candidate, for reproducing a trial
std::unique_ptr<Command> MakeChildCommand();    // hidden: the measurer's child processes
std::unique_ptr<Command> MakeHelpCommand();
std::unique_ptr<Command> MakeCompletionCommand();  // shell completion and manual pages

}  // namespace tilewright::cli
