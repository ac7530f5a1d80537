#pragma once

#include <span>
#include <string>
#include <vector>

#include "search/tuner.h"
#include "src/templates/registry.h"

namespace tilewright::search {

/// The registry with the templates of these keys alone, for a search that is limited to them; with
/// all where there are no keys. Tasks that none of them serves are taken out of `tasks`.
/// Errors: kInvalidArgument for a key that serves none of the tasks, naming those that do.
Result<TemplateRegistry> OnlyTemplates(const TemplateRegistry& templates,
                                       std::span<const std::string> keys,
                                       std::vector<TuneTask>& tasks);

}  // namespace tilewright::search
