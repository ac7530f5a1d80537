#pragma once

#include "include/tilewright/plugin.h"
#include "src/templates/registry.h"

namespace tilewright::plugins {

/// Returns a plugin's template as an entry of the registry. Its schedules pass the same checks as
/// those of built-in templates: an invalid call is rejected, so it cannot produce a wrong kernel.
/// row: must outlive the entry. Only default_index may be null (LoadPlugin checks the others).
TemplateEntry EntryOfPlugin(const tw_template& row);

}  // namespace tilewright::plugins
