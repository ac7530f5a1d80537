#pragma once

#include "python_free_cli/registries.h"
#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Adds the templates of `--schedule` files, and of texts that a parent process gave.
/// Errors: kInvalidArgument with file, line and column.
Status LoadSchedules(const ExtensionArguments& extensions, Registries& registries);

/// Adds those that are in the stores and packages that a command was given, in the user's own store
/// and in the installed packages, so that their records can be served. What cannot be read is left
/// to the command, which says so. command: parsed.
void LoadStoredSchedules(const CLI::App& command, Registries& registries);

}  // namespace tilewright::cli
