#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <system_error>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "python_free_cli/usage.h"
#include "src/base/files/file.h"
#include "src/base/files/unfinished.h"
#include "src/base/printable.h"
#include "src/base/stack.h"
#include "src/base/standard_streams.h"

namespace {

using tilewright::StatusCode;
namespace cli = tilewright::cli;

int ExitCodeOf(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kInternal ? cli::kExitFailed
                                                                           : cli::kExitBadInput;
}

/// `exit_code`, or the code of a failure if not all that was printed has arrived. A reader that
/// went away (| head) has what it wanted.
int CheckOutput(int exit_code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if ((flushed && std::ferror(stdout) == 0) || errno == EPIPE) return exit_code;
  cli::PrintErr("tilewright: standard output: cannot be written whole: {}\n",
                flushed ? "an earlier write failed" : tilewright::ErrnoReason());
  return exit_code == cli::kExitDone ? cli::kExitFailed : exit_code;
}

int RunCommand(cli::Command& command) {
  tilewright::Result<int> exit_code = cli::kExitFailed;
  try {
    exit_code = command.Run();
  } catch (const std::system_error& error) {  // the formatter's way to say that a write failed
    if (error.code().value() != EPIPE) {
      cli::PrintErr("tilewright {}: standard output: {}\n", command.name(), error.what());
    }
    return cli::kExitFailed;
  } catch (const std::bad_alloc&) {
    exit_code = tilewright::Unavailable("out of memory");
  }
  if (exit_code.ok()) return CheckOutput(*exit_code);
  cli::PrintErr("tilewright {}: {}\n", command.name(), exit_code.status().message());
  return ExitCodeOf(exit_code.status().code());
}

int RunProgram(int argc, char** argv) {
  tilewright::KeepStandardStreams();
  // A reader that goes away (| head), or a file that may grow no more (ulimit -f), ends a write
  // with an error instead of a signal.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  tilewright::RemoveUnfinishedAtSignals();
  CLI::App app(
      "Tilewright: finds fast schedules for tensor operators, keeps them, and compiles with "
      "them",
      "tilewright");
  cli::SetUpHelp(app);
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
    return CheckOutput(cli::EndParsing(app, error));
  }
  if (const tilewright::Status folders = cli::CheckOutputFolders(app); !folders.ok()) {
    cli::PrintErr("tilewright: {}\n", folders.message());
    return cli::kExitBadInput;
  }
  for (const auto& command : commands) {
    if (app.got_subcommand(command->name())) return RunCommand(*command);
  }
  cli::PrintErr("{}", app.help());
  return cli::kExitBadInput;
}

}  // namespace

int main(int argc, char** argv) { return tilewright::RunOnEnoughStack(&RunProgram, argc, argv); }
