#pragma once

#include <string>

#include "python_free_cli/pages/description.h"
#include "src/base/status.h"

// Manual pages and shell completion, as installed with the program. All are generated from one
// description of the commands.

namespace tilewright::cli {

/// Returns the page of the program itself, which lists its commands: tilewright(1).
std::string ProgramManual(const CommandPage& program);
/// Returns the page of one command with its subcommands: tilewright-COMMAND(1).
std::string CommandManual(const CommandPage& program, const CommandPage& command);

/// Return completion of commands, subcommands, options, and of options that take one of a few
/// values.
std::string BashCompletion(const CommandPage& program);
std::string ZshCompletion(const CommandPage& program);
std::string FishCompletion(const CommandPage& program);

/// Writes every page and completion into a folder, in its place below PREFIX/share. Missing folders
/// are created.
/// Errors: kUnavailable with the system's reason.
Status WritePages(const CommandPage& program, const std::string& folder);

}  // namespace tilewright::cli
