#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// Products that a config computes for each product of its workload's definition: 1, but for
/// Winograd's convolution, which needs fewer. 1 if the config does not apply.
double ProductShareOf(const TemplateEntry& entry, const Workload& workload,
                      const Epilogue& epilogue, const Target& target, const Config& config);

}  // namespace tilewright
