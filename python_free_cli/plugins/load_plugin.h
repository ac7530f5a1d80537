#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python_free_cli/registries.h"
#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Adds `--plugin` and `--schedule` to a command that has to do with templates or strategies, and
/// to its verbs; `brought` gets what is given.
void DeclarePlugins(CLI::App& command, ExtensionArguments& extensions);

/// Loads a plugin (include/tilewright/plugin.h) and adds what it has. It stays loaded until the
/// process ends: it is code like that of any library the program is linked with.
/// Errors: kInvalidArgument naming the file and what is wrong: no plugin, of another version, a
/// member that lacks, a key that is there already or does not begin with the plugin's name.
Status LoadPlugin(const std::string& file, Registries& registries);

}  // namespace tilewright::cli
