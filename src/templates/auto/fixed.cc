#include <algorithm>

#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/auto/rules.h"
#include "src/templates/space_values.h"

namespace tilewright {

std::string RefusesAnyExpression(const Workload& workload, const Target& target) {
  if (workload.op != OpKind::kExpression) return "only expressions";
  if (DeviceTraitsOf(target).launches_grids) return "";
  const auto features = FeaturesOf(target);
  return features.ok() ? "" : features.status().message();
}

bool HasReduction(const Expression& expression) {
  return std::ranges::any_of(expression.stages, [](const ExpressionStage& stage) {
    return stage.reduction != ExpressionReduction::kNone;
  });
}

std::string AutoFixed::Refuses(const Workload& workload, const Target& target) {
  return RefusesAnyExpression(workload, target);
}

Result<ConfigSpace> AutoFixed::DefineSpace(const Workload&, const Target&) { return ConfigSpace(); }

Result<Config> AutoFixed::DefaultConfig(const Workload&, const Target&) {
  return ConfigSpace().At(0);
}

Result<Kernel> AutoFixed::Apply(const Workload& workload, const Epilogue&, const Target& target,
                                const Config&) {
  Compute compute = DefineExpression(workload.expression);
  SplitLongReductions(compute);
  TW_ASSIGN_OR_RETURN(auto schedule, FixedSchedule(std::move(compute), target));
  return Kernel{std::move(schedule), KernelLayouts(), {"sums_in_blocks"}};
}

}  // namespace tilewright
