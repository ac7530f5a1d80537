#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// Functions of a TemplateEntry for templates that first derive a plan from workload and target.
// kMakePlan: returns a Result of the plan for (workload, target).

template <auto kMakePlan, auto kSpace>
Result<ConfigSpace> SpaceByPlan(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto plan, kMakePlan(workload, target));
  return kSpace(plan);
}

template <auto kMakePlan, auto kDefault>
Result<Config> DefaultByPlan(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto plan, kMakePlan(workload, target));
  return kDefault(plan);
}

template <auto kMakePlan, auto kApply>
Result<Kernel> ApplyByPlan(const Workload& workload, const Epilogue& epilogue, const Target& target,
                           const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto plan, kMakePlan(workload, target));
  return kApply(plan, workload, epilogue, target, config);
}

/// layout_configs of a template whose default config is the only one for other layouts.
template <auto kDefault>
Result<std::vector<Config>> OnlyDefault(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto config, kDefault(workload, target));
  return std::vector<Config>{std::move(config)};
}

}  // namespace tilewright
