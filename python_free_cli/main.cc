#include <CLI/CLI.hpp>
#include <csignal>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/arguments/output_check.h"
#include "python_free_cli/command.h"
#include "python_free_cli/end_command.h"
#include "python_free_cli/print.h"
#include "python_free_cli/program_arguments.h"
#include "python_free_cli/usage.h"
#include "src/base/files/scoped_temp_path.h"
#include "src/base/stack.h"
#include "src/base/standard_streams.h"
#include "src/plugins/load_plugin.h"
#include "src/plugins/load_schedule.h"
#include "src/plugins/registries.h"
#include "src/session/text_table.h"

namespace {

namespace cli = tilewright::cli;
namespace plugins = tilewright::plugins;

int RunProgram(int argc, char** argv) {
  tilewright::FixupStandardStreams();
  tilewright::session::SetTextWidth(cli::OutputColumns());
  // A closed pipe (| head), or a file size limit (ulimit -f), then ends a write with an error
  // instead of a signal.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  tilewright::RemoveTempPathsOnSignal();
  CLI::App app("", "tilewright");
  plugins::Registries registries;
  cli::ExtensionArguments extensions;
  auto commands = cli::AllCommands();
  cli::DeclareProgram(app, commands, extensions);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // the argument parser reports errors and help this way
    return cli::CheckOutput(cli::EndParsing(app, error));
  }
  if (const tilewright::Status outputs = cli::CheckOutputs(app); !outputs.ok()) {
    cli::PrintErr("tilewright: {}\n", outputs.message());
    return cli::kExitBadInput;
  }
  for (const auto& command : commands) {
    if (!app.got_subcommand(command->name())) continue;
    command->Use(registries);
    return cli::EndCommand(command->name(), [&]() -> tilewright::Result<int> {
      for (const std::string& file : extensions.plugins) {
        TW_RETURN_IF_ERROR(plugins::LoadPlugin(file, registries));
      }
      TW_RETURN_IF_ERROR(cli::LoadSchedules(extensions, registries));
      cli::LoadStoredSchedules(*app.get_subcommand(command->name()), registries);
      return command->Run();
    });
  }
  cli::WriteMessage(app.help());
  return cli::kExitBadInput;
}

}  // namespace

int main(int argc, char** argv) { return tilewright::RunWithLargeStack(&RunProgram, argc, argv); }
