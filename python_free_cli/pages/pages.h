#pragma once

#include <string>

#include "python_free_cli/pages/description.h"
#include "src/base/status.h"

// What an installation holds beside the program: manual pages, and completion for shells. All of it
// is made from one description, so none of it can go stale.

namespace tilewright::cli {

/// The page of the program itself, which lists its commands: tilewright(1).
std::string ProgramManual(const CommandPage& program);
/// The page of one command with its verbs: tilewright-COMMAND(1).
std::string CommandManual(const CommandPage& program, const CommandPage& command);

/// Completion of commands, verbs, options, and the values of options that are one of a few.
std::string BashCompletion(const CommandPage& program);
std::string ZshCompletion(const CommandPage& program);
std::string FishCompletion(const CommandPage& program);

/// Writes every page and completion into a folder, each where it is below PREFIX/share. The folder
/// and those in it are made where they are missing.
/// Errors: kUnavailable with the system's reason.
Status WritePages(const CommandPage& program, const std::string& folder);

}  // namespace tilewright::cli
