#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// Ratio of the products that a config computes to those of the workload's definition: less than 1
/// for Winograd's convolution, 1 for all others and for a config that does not apply.
double ProductShareOf(const TemplateEntry& entry, const Workload& workload,
                      const Epilogue& epilogue, const Target& target, const Config& config);

}  // namespace tilewright
