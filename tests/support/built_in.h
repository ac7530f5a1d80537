#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// The templates of this program, made once.
inline const TemplateRegistry& BuiltInTemplates() {
  static const TemplateRegistry templates = TemplateRegistry::BuiltIn();
  return templates;
}

}  // namespace tilewright
