#pragma once

#include <memory>
#include <string>
#include <vector>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/command.h"
#include "src/plugins/registries.h"

namespace tilewright::cli {

/// Declares the whole program: its help, its version, and each command with its arguments. app:
/// new, named "tilewright". Parsed values are stored in the commands, and values of extension
/// options in `brought`; both outlive app.
void DeclareProgram(CLI::App& app, const std::vector<std::unique_ptr<Command>>& commands,
                    ExtensionArguments& extensions);

}  // namespace tilewright::cli
