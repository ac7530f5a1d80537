#pragma once

#include "include/tilewright/plugin.h"
#include "search/registry.h"

namespace tilewright::plugins {

/// Returns a plugin's strategy as an entry of the registry. When a job is resumed, the strategy is
/// called again and must propose the same points. An invalid proposal sets its status.
/// row: must outlive the entry; its functions are not null (see LoadPlugin).
search::StrategyEntry EntryOfPlugin(const tw_strategy& row);

}  // namespace tilewright::plugins
