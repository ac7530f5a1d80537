#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "python_free_cli/command.h"

namespace {

using tilewright::StatusCode;
namespace cli = tilewright::cli;

int ExitCodeOf(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kInternal ? cli::kExitFailed
                                                                           : cli::kExitBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away (| head) ends a write with an error instead of a signal.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app(
      "Tilewright: finds fast schedules for tensor operators, keeps them, and compiles with "
      "them",
      "tilewright");
  app.require_subcommand(0, 1);  // none: the help; an unknown one is named as not expected
  app.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION);
  app.footer("`tilewright COMMAND --help` tells more about each, with examples.");
  auto commands = cli::AllCommands();
  for (const auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    if (*command->examples() != '\0') sub->footer(std::string("Examples:\n") + command->examples());
    if (command->hidden()) sub->group("");
    command->Declare(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // the argument parser's only way to say no
    return app.exit(error) == 0 ? cli::kExitDone : cli::kExitBadInput;
  }
  for (const auto& command : commands) {
    if (!app.got_subcommand(command->name())) continue;
    tilewright::Result<int> exit_code = cli::kExitFailed;
    try {
      exit_code = command->Run();
    } catch (const std::system_error&) {  // the formatter's way to say that standard output is gone
      return cli::kExitFailed;
    }
    if (exit_code.ok()) return *exit_code;
    std::fprintf(stderr, "tilewright %s: %s\n", command->name(),
                 exit_code.status().message().c_str());
    return ExitCodeOf(exit_code.status().code());
  }
  std::fprintf(stderr, "%s", app.help().c_str());
  return cli::kExitBadInput;
}
