#pragma once

#include <string>
#include <vector>

#include "search/registry.h"
#include "src/templates/registry.h"

namespace tilewright::plugins {

/// Available templates and strategies. A program creates one object at its start and passes it on.
struct Registries {
  TemplateRegistry templates = TemplateRegistry::BuiltIn();
  search::StrategyRegistry strategies = search::StrategyRegistry::BuiltIn();
  std::vector<std::string> plugins;  ///< absolute paths of loaded plugins, for workers
  std::vector<std::string> texts;    ///< canonical texts of added schedules, for workers
};

}  // namespace tilewright::plugins
