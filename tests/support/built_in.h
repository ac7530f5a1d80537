#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// Returns the built-in templates, created once.
inline const TemplateRegistry& BuiltInTemplates() {
  static const TemplateRegistry templates = TemplateRegistry::BuiltIn();
  return templates;
}

}  // namespace tilewright
