#pragma once

#include "include/tilewright/plugin.h"
#include "src/templates/registry.h"

namespace tilewright::plugins {

/// A plugin's template as an entry of the registry. What it does to a schedule can be refused, but
/// not wrong: the entry's functions are told apart from ours by nothing.
/// row: stays where it is; its functions are there (see LoadPlugin).
TemplateEntry EntryOfPlugin(const tw_template& row);

}  // namespace tilewright::plugins
