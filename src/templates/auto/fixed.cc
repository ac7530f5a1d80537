#include <algorithm>

#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/auto/rules.h"
#include "src/templates/auto/templates.h"

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

namespace fixed_auto {
namespace {

Result<ConfigSpace> DefineSpace(const Workload&, const Target&) { return ConfigSpace(); }

Result<Config> DefaultConfig(const Workload&, const Target&) { return ConfigSpace().At(0); }

Result<Kernel> Apply(const Workload& workload, const Epilogue&, const Target& target,
                     const Config&) {
  Compute compute = DefineExpression(workload.expression);
  SplitLongReductions(compute);
  TW_ASSIGN_OR_RETURN(auto schedule, FixedSchedule(std::move(compute), target));
  return Kernel{std::move(schedule), KernelLayouts(), {"sums_in_blocks"}};
}

/// Entry of the template for a device.
TemplateEntry EntryFor(std::string_view key, std::string_view device) {
  return LoopTemplate(key, 1, device, {}, &RefusesAnyExpression, &DefineSpace, &DefaultConfig,
                      &Apply);
}

}  // namespace
}  // namespace fixed_auto

TemplateEntry AutoFixedEntry() {
  using namespace fixed_auto;
  return EntryFor("auto.cpu/fixed", "llvm");
}
TemplateEntry AutoFixedCudaEntry() {
  using namespace fixed_auto;
  return EntryFor("auto.cuda/fixed", "cuda");
}

}  // namespace tilewright
