#include "src/compiler/plan/group_tasks.h"

#include <algorithm>

#include "src/compiler/plan/plan_builder.h"
#include "src/tensor/work.h"

namespace tilewright {
namespace {

/// Approximate rates of one core for such kernels: good enough to rank groups.
constexpr double kBytesAlone = 7e9, kOperationsAlone = 8e9, kProductsAlone = 30e9;

double SecondsOf(const Work& work) {
  return std::max(work.bytes / kBytesAlone, work.operations / kOperationsAlone);
}

}  // namespace

Result<std::vector<GroupUses>> TasksOfGroups(PartitionedGraph network,
                                             const CompileOptions& options, double* all_seconds) {
  if (!DeviceTraitsOf(options.target).machine_code) {
    return Unsupported("groups are tasks on targets of machine code only");
  }
  PlanBuilder builder(std::move(network), options, nullptr);
  TW_ASSIGN_OR_RETURN(auto plan, builder.Build());
  std::vector<GroupUses> uses;
  double all = 0;
  for (const auto& [workload, value] : builder.group_uses()) {
    const double seconds = SecondsOf(WorkOf(workload));
    all += seconds;
    auto known = std::ranges::find(uses, workload, &GroupUses::workload);
    if (known == uses.end()) known = uses.insert(uses.end(), {workload, {}, 0});
    known->values.push_back(value);
    known->seconds += seconds;
  }
  for (const PlanStep& step : plan.steps) {
    all += static_cast<double>(step.report.macs) / kProductsAlone;
  }
  if (all_seconds != nullptr) *all_seconds = all;
  return uses;
}

}  // namespace tilewright
