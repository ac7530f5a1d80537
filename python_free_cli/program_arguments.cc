#include "python_free_cli/program_arguments.h"

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/usage.h"
#include "src/plugins/load_plugin.h"

namespace tilewright::cli {

void DeclareProgram(CLI::App& app, const std::vector<std::unique_ptr<Command>>& commands,
                    ExtensionArguments& extensions) {
  app.description(
      "Tilewright: finds fast schedules for tensor operators, keeps them, and compiles with them");
  SetUpHelp(app);
  app.require_subcommand(0, 1);  // none prints the help; the error names an unknown one
  app.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION);
  app.footer("`tilewright COMMAND --help` tells more about each, with examples.");
  for (const auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    if (*command->examples() != '\0') sub->footer(std::string("Examples:\n") + command->examples());
    if (command->hidden()) sub->group("");
    command->Declare(*sub);
    DeclarePlugins(*sub, extensions);
    TakeOneValueEach(*sub);
  }
}

}  // namespace tilewright::cli
