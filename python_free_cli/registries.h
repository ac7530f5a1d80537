#pragma once

#include <string>
#include <vector>

#include "search/registry.h"
#include "src/templates/registry.h"

namespace tilewright::cli {

/// What the commands choose from: made once, in main, and passed on.
struct Registries {
  TemplateRegistry templates = TemplateRegistry::BuiltIn();
  search::StrategyRegistry strategies = search::StrategyRegistry::BuiltIn();
  std::vector<std::string> plugins;  ///< absolute paths of what was loaded, for workers
  std::vector<std::string> texts;    ///< of schedules that were added, canonical, for workers
};

/// What users bring: files of `--plugin` and `--schedule`, texts of a worker's `--schedule-text`.
struct ExtensionArguments {
  std::vector<std::string> plugins, schedules, texts;
};

}  // namespace tilewright::cli
