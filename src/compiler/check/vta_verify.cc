#include "src/compiler/check/vta_verify.h"

#include <fmt/format.h>

#include <utility>

#include "src/compiler/run/run_values.h"
#include "src/compiler/run/vta_run.h"
#include "src/graph/ir/evaluate.h"

namespace tilewright {
namespace {

void Add(OperatorCheck check, VerifyReport& report) {
  if (!check.comparison.ok && !report.first_bad) report.first_bad = report.checks.size();
  report.checks.push_back(std::move(check));
}

/// Errors: kInvalidArgument unless the outputs have the types of the source's.
Status CheckOutputs(const VtaPlan& plan, const Graph& source) {
  const std::vector<int>& made = plan.graph.outputs();
  bool same = made.size() == source.outputs().size();
  for (std::size_t i = 0; same && i < made.size(); ++i) {
    same = plan.graph.node(made[i]).type == source.node(source.outputs()[i]).type;
  }
  if (same) return Status();
  return InvalidArgument("made from another graph than " + source.name + ": the outputs differ");
}

}  // namespace

Result<VerifyReport> VerifyVta(const VtaPlan& plan, const Graph& source,
                               std::span<const Tensor> inputs, const VerifyOptions& options) {
  TW_RETURN_IF_ERROR(CheckOutputs(plan, source));
  const auto expected = EvaluateGraph(source, inputs, KeepValues::kOutputs, options.threads);
  TW_RETURN_IF_ERROR(expected);
  const auto values = EvaluateGraph(plan.graph, inputs, KeepValues::kAll, options.threads);
  TW_RETURN_IF_ERROR(values);
  VerifyReport report;
  report.made_up_constants = source.made_up_constants;
  VtaRunOptions run_options;
  run_options.host_threads = options.threads;
  run_options.observe = [&](std::size_t index, const Tensor& result) -> Status {
    const VtaStep& step = plan.steps[index];
    if (step.kernel < 0) return Status();
    const int id = step.nodes.back();
    Add({plan.graph.node(id).name, step.op,
         Compare(result, (*values)[static_cast<std::size_t>(id)], options.tolerance)},
        report);
    return Status();
  };
  const auto run = RunVta(plan, inputs, run_options);
  TW_RETURN_IF_ERROR(run);
  RunValues made(source, inputs, options.threads);
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const int id = source.outputs()[i];
    auto comparison = Compare(run->outputs[i], (*expected)[i], options.tolerance);
    if (!comparison.ok && !options.tolerance && source.node(id).kind == NodeKind::kOperator) {
      // What the host makes of the accelerator's integers: by the magnitudes that went into it.
      TW_RETURN_IF_ERROR(made.Reference(id));
      const auto bounded = made.Bounded();
      TW_RETURN_IF_ERROR(bounded);
      comparison = CompareBounded(run->outputs[i], *bounded);
    }
    Add({source.node(id).name, "output of the model", comparison}, report);
  }
  return report;
}

}  // namespace tilewright
