#include "python_free_cli/program_arguments.h"

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/option_table.h"
#include "python_free_cli/print.h"
#include "python_free_cli/usage.h"
#include "src/plugins/load_plugin.h"

namespace tilewright::cli {

namespace {

/// Adds `--quiet` to a command and to its subcommands.
void DeclareQuiet(CLI::App& command) {
  command.add_flag_callback(
      "--quiet", [] { SetQuiet(true); }, "Print no notes; results, warnings and errors stay");
  for (CLI::App* subcommand : command.get_subcommands(nullptr)) DeclareQuiet(*subcommand);
}

}  // namespace

void DeclareProgram(CLI::App& app, const std::vector<std::unique_ptr<Command>>& commands,
                    ExtensionArguments& extensions) {
  app.description(
      "Tilewright: find fast schedules for tensor operators, store them, and compile models with "
      "them");
  SetUpHelp(app);
  app.require_subcommand(0, 1);  // none prints the help; the error names an unknown one
  app.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION);
  app.footer("`tilewright help COMMAND` shows the options of a command, with examples.");
  for (const auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    if (*command->examples() != '\0') sub->footer(std::string("Examples:\n") + command->examples());
    if (command->hidden()) sub->group("");
    command->Declare(*sub);
    DeclareQuiet(*sub);
    DeclarePlugins(*sub, extensions);
    TakeOneValueEach(*sub);
    NameOptions(*sub);
  }
}

}  // namespace tilewright::cli
