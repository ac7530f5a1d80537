#pragma once

#include <string>
#include <string_view>

#include "src/templates/registry.h"

namespace tilewright {

/// The documentation of a knob of the template; null if the template documents none of this name.
const KnobDoc* FindKnobDoc(const TemplateEntry& entry, std::string_view knob);

/// The page docs/knobs.md: all templates of the registry with their knobs.
std::string DescribeKnobs(const TemplateRegistry& templates);

}  // namespace tilewright
