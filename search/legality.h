#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "search/strategy.h"
#include "src/templates/registry.h"

namespace tilewright::search {

struct TuneTask;

/// Result of the static checks of templates' configs.
struct Legality {
  std::int64_t checked = 0;  ///< configs; an even sample of large spaces
  std::int64_t legal = 0;
  bool complete = true;                         ///< every config was checked
  std::map<std::string, std::int64_t> reasons;  ///< reason of rejection -> configs

  /// Returns true if certainly no config can be measured.
  bool none_legal() const { return complete && checked > 0 && legal == 0; }
  /// Returns "none of 9 configs is legal: loop 'n' is not innermost (9 configs)", with the most
  /// frequent reasons.
  std::string Text() const;
};

/// Checks the configs of all templates of the space, until one is legal.
Legality CheckConfigs(const SearchSpace& space);

/// Checks one template for all tasks that it serves. Errors: kInvalidArgument with the reasons if
/// it serves at least one task and no config is legal for any of them.
Status CheckTemplate(const TemplateRegistry& templates, const std::string& key,
                     const std::vector<TuneTask>& tasks);

}  // namespace tilewright::search
