#include "src/optimize/kernel_key.h"

#include "src/base/hash.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/ir/stmt.h"

namespace tilewright::optimize {

Result<std::uint64_t> KernelKeyOf(Graph graph, const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(const Plan plan, MakeCheckedPlan(std::move(graph), options));
  std::uint64_t state = Fnv1a64("");
  for (const Program& kernel : plan.kernels) state = Fnv1a64(ToString(kernel), state);
  for (const PlanStep& step : plan.steps) {
    const OperatorReport& report = step.report;
    const KernelStep* kernel = step.kernel();
    state = Fnv1a64(report.value + "\n" + report.op + "\n" + report.template_key + "\n" +
                        report.config + "\n" + report.layout + "\n" +
                        std::to_string(kernel != nullptr ? kernel->kernel : -1) + "\n",
                    state);
  }
  return state;
}

std::string KernelTag(std::uint64_t float32, std::uint64_t combination) {
  return HexOf(Mix64(Mix64(float32) ^ combination));
}

}  // namespace tilewright::optimize
