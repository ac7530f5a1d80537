#pragma once

#include "include/tilewright/plugin.h"
#include "search/registry.h"

namespace tilewright::plugins {

/// A plugin's strategy as an entry of the registry. It is asked for points again when a job is
/// resumed, and must propose what it did; what it may not propose becomes its status.
/// row: stays where it is; its functions are there (see LoadPlugin).
search::StrategyEntry EntryOfPlugin(const tw_strategy& row);

}  // namespace tilewright::plugins
