#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/plugins/registries.h"

namespace tilewright::plugins {

/// Loads a plugin (include/tilewright/plugin.h) and adds its templates and strategies. It stays
/// loaded until the process ends, like any library that the program is linked with.
/// Errors: kInvalidArgument naming the file and the reason: not a plugin, another version, a
/// missing member, or a key that exists already or does not begin with the plugin's name.
Status LoadPlugin(const std::string& file, Registries& registries);

}  // namespace tilewright::plugins
