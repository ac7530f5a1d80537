#include "python_free_cli/command.h"
#include "src/base/status.h"
#include "src/plugins/registries.h"

namespace tilewright::cli {

const plugins::Registries& Command::registries() const {
  TW_CHECK(registries_ != nullptr, "a command is run that was told of no registries");
  return *registries_;
}

const TemplateRegistry& Command::templates() const { return registries().templates; }

std::vector<std::unique_ptr<Command>> AllCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeInspectCommand());
  commands.push_back(MakeTasksCommand());
  commands.push_back(MakeModelCommand());
  commands.push_back(MakeQuantizeCommand());
  commands.push_back(MakePackCommand());
  commands.push_back(MakeSpaceCommand());
  commands.push_back(MakeLowerCommand());
  commands.push_back(MakeTuneCommand());
  commands.push_back(MakeQueryCommand());
  commands.push_back(MakeCompileCommand());
  commands.push_back(MakeOptimizeCommand());
  commands.push_back(MakeRunCommand());
  commands.push_back(MakeBenchCommand());
  commands.push_back(MakeVerifyCommand());
  commands.push_back(MakeRecordsCommand());
  commands.push_back(MakePackageCommand());
  commands.push_back(MakeReportCommand());
  commands.push_back(MakeTrainCommand());
  commands.push_back(MakeReplayCommand());
  commands.push_back(MakeRunnerCommand());
  commands.push_back(MakeWorkerCommand());
  commands.push_back(MakeFleetCommand());
  commands.push_back(MakeDoctorCommand());
  commands.push_back(MakeTargetsCommand());
  commands.push_back(MakeVersionCommand());
  commands.push_back(MakeMeasureCommand());
  commands.push_back(MakeChildCommand());
  commands.push_back(MakeHelpCommand());
  commands.push_back(MakeCompletionCommand());
  return commands;
}

}  // namespace tilewright::cli
