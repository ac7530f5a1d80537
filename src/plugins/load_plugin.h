#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/plugins/registries.h"

namespace tilewright::plugins {

/// Loads a plugin (include/tilewright/plugin.h) and adds what it has. It stays loaded until the
/// process ends: it is code like that of any library the program is linked with.
/// Errors: kInvalidArgument naming the file and what is wrong: no plugin, of another version, a
/// member that lacks, a key that is there already or does not begin with the plugin's name.
Status LoadPlugin(const std::string& file, Registries& registries);

}  // namespace tilewright::plugins
