#include "src/compiler/check/vta_verify.h"

#include <fmt/format.h>

#include <utility>

#include "src/compiler/check/operator_verifier.h"
#include "src/compiler/run/run_values.h"
#include "src/compiler/run/vta_run.h"
#include "src/graph/ir/evaluate.h"

namespace tilewright {
namespace {

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
  TW_RETURN_IF_ERROR(CheckGraphInputs(plan.graph, inputs));
  OperatorVerifier verifier(plan.graph, inputs, options);
  VtaRunOptions run_options;
  run_options.host_threads = options.threads;
  run_options.observe = [&](std::size_t index, const Tensor& result) -> Status {
    const VtaStep& step = plan.steps[index];
    const int node = step.nodes.back();
    if (step.kernel >= 0) return verifier.Check(node, step.op, result.Clone());
    verifier.Observe(node, result.Clone());
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
    verifier.Add({source.node(id).name, "output of the model", comparison});
  }
  VerifyReport report = verifier.Finish();
  report.made_up_constants = source.made_up_constants;
  return report;
}

}  // namespace tilewright
