// The built-in templates, from the tables of their folders.

#include <algorithm>
#include <span>

#include "src/templates/arm/templates.h"
#include "src/templates/auto/templates.h"
#include "src/templates/cpu/templates.h"
#include "src/templates/cuda/templates.h"
#include "src/templates/opencl/templates.h"
#include "src/templates/registry.h"
#include "src/templates/vta/templates.h"

namespace tilewright {

TemplateRegistry TemplateRegistry::BuiltIn() {
  TemplateRegistry registry;
  for (const std::span<const TemplateMaker> makers : {std::span<const TemplateMaker>(kCpuTemplates),
                                                      {kArmTemplates},
                                                      {kMaliTemplates},
                                                      {kCudaTemplates},
                                                      {kAdrenoTemplates},
                                                      {kIntelGraphicsTemplates},
                                                      {kVtaTemplates},
                                                      {kAutoTemplates}}) {
    for (const TemplateMaker make : makers) {
      registry.entries_.push_back(make());
      registry.preference_.push_back(registry.entries_.back().key);
    }
  }
  std::ranges::sort(registry.entries_, {}, &TemplateEntry::key);
  return registry;
}

}  // namespace tilewright
