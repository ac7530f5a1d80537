#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "search/strategy.h"
#include "src/templates/registry.h"

namespace tilewright::search {

struct TuneTask;

/// What the static checks say of the configs of templates.
struct Legality {
  std::int64_t checked = 0;  ///< configs; of large spaces an even sample
  std::int64_t legal = 0;
  bool complete = true;                         ///< every config was checked
  std::map<std::string, std::int64_t> reasons;  ///< why the others are refused -> configs

  /// No config can be measured, and that is certain.
  bool none_legal() const { return complete && checked > 0 && legal == 0; }
  /// "none of 9 configs is legal: loop 'n' is not innermost (9 configs)"; the most frequent
  /// reasons.
  std::string Text() const;
};

/// Checks the configs of all templates of the space, until one is legal.
Legality CheckConfigs(const SearchSpace& space);

/// Checks one template for all tasks that it serves. Errors: kInvalidArgument with the reasons, if
/// it serves at least one, and no config is legal for any of them.
Status CheckTemplate(const TemplateRegistry& templates, const std::string& key,
                     const std::vector<TuneTask>& tasks);

}  // namespace tilewright::search
