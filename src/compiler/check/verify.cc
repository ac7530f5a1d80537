#include "src/compiler/check/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/compiler/check/check_process.h"
#include "src/compiler/check/operator_verifier.h"
#include "src/compiler/run/real_values.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/schedule/tolerance.h"
#include "src/target/gpu.h"

namespace tilewright {
namespace {

/// Errors: kInvalidArgument unless graph and library have the same inputs and outputs.
Status CheckSame(const Graph& graph, const ModelLibrary& model) {
  const auto check = [&](const std::vector<int>& nodes, const std::vector<ModelValue>& values,
                         const char* what) -> Status {
    bool same = nodes.size() == values.size();
    for (std::size_t i = 0; same && i < nodes.size(); ++i) {
      const Node& node = graph.node(nodes[i]);
      same = node.name == values[i].name && node.type == values[i].type;
    }
    if (same) return Status();
    return InvalidArgument(
        fmt::format("library {} was made from another graph than {}: their {} "
                    "differ",
                    model.name(), graph.name, what));
  };
  TW_RETURN_IF_ERROR(check(graph.inputs(), model.inputs(), "inputs"));
  return check(graph.outputs(), model.outputs(), "outputs");
}

}  // namespace

bool IsLibraryOf(const Graph& graph, const ModelLibrary& model) {
  if (!CheckSame(graph, model).ok()) return false;
  std::map<std::string_view, const TensorType*> types;
  for (const Node& node : graph.nodes()) types.emplace(node.name, &node.type);
  return std::ranges::all_of(model.operators(), [&](const ModelOperator& op) {
    if (SourceName(op.result.name) != op.result.name) return true;  // made by a pass
    const auto found = types.find(op.result.name);
    return found != types.end() && *found->second == op.result.type;
  });
}

std::string VerifyReport::Summary() const {
  if (!first_bad) return fmt::format("{} operators agree with the reference", checks.size());
  const OperatorCheck& bad = checks[*first_bad];
  return fmt::format(
      "operator {} ({}, {}) differs from the reference: element {}, largest error {:.3g}, "
      "reference RMS {:.3g}{}; the {} before it agree",
      *first_bad, bad.value, bad.op, bad.comparison.first_bad, bad.comparison.max_abs_error,
      bad.comparison.reference_rms, UnlikeText(bad.unlike), *first_bad);
}

Result<VerifyReport> Verify(Graph graph, const ModelLibrary& model, std::span<const Tensor> inputs,
                            const VerifyOptions& options) {
  auto optimized = Optimize(std::move(graph));
  TW_RETURN_IF_ERROR(optimized);
  TW_RETURN_IF_ERROR(CheckSame(*optimized, model));
  TW_RETURN_IF_ERROR(CheckGraphInputs(*optimized, inputs));
  std::map<std::string_view, int> by_name;
  for (int id = 0; id < optimized->size(); ++id) by_name.emplace(optimized->node(id).name, id);

  auto target = Target::Parse(model.target());
  TW_RETURN_IF_ERROR(target);
  const std::optional<double> least =
      AllowsTf32(*target) ? std::optional(kToleranceOfTf32) : std::nullopt;
  OperatorVerifier verifier(*optimized, inputs, options);
  const auto compare = [&](std::size_t index, Tensor result) -> Status {
    const ModelOperator& op = model.operators()[index];
    const auto node = by_name.find(op.result.name);
    if (node == by_name.end() || optimized->node(node->second).type != op.result.type) {
      return InvalidArgument(fmt::format("library {} was made from another graph than {}: value {}",
                                         model.name(), optimized->name, op.result.name));
    }
    return verifier.Check(node->second, op.op, std::move(result), least);
  };
  CheckProgress nobody;
  CheckProgress& progress = options.progress != nullptr ? *options.progress : nobody;
  const auto observe = [&](std::size_t index, Tensor result) {
    progress.End();
    Status status = compare(index, std::move(result));
    progress.Begin(static_cast<std::int64_t>(index) + 1);
    return status;
  };
  progress.Begin(0);
  const auto outputs = model.RunObserved(inputs, observe);
  progress.End();
  TW_RETURN_IF_ERROR(outputs);
  return verifier.Finish();
}

}  // namespace tilewright
