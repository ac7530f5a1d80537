#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/plugins/registries.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Templates and strategies of the user: files of `--plugin` and `--schedule`, and texts of a
/// worker's `--schedule-text`.
struct ExtensionArguments {
  std::vector<std::string> plugins, schedules, texts;
};

/// Adds `--plugin` and `--schedule` to a command that uses templates or strategies, and to its
/// subcommands; `extensions` gets their values.
void DeclarePlugins(CLI::App& command, ExtensionArguments& extensions);

/// Adds the templates of `--schedule` files, and of texts from a parent process.
/// Errors: kInvalidArgument with file, line and column.
Status LoadSchedules(const ExtensionArguments& extensions, plugins::Registries& registries);

/// Adds the schedules of the stores and packages that a command names, of the user's own store and
/// of the installed packages, so that their records can be served. The command itself reports
/// unreadable sources. command: parsed.
void LoadStoredSchedules(const CLI::App& command, plugins::Registries& registries);

}  // namespace tilewright::cli
