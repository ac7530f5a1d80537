#include "tests/support/check_model.h"

#include <utility>
#include <vector>

#include "src/compiler/check/verify.h"
#include "src/compiler/run/run.h"
#include "src/compiler/run/run_values.h"
#include "src/graph/ir/evaluate.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

ModelCheck Refused(const Status& status) {
  const bool internal = status.code() == StatusCode::kInternal;
  return {internal ? ModelOutcome::kInternal : ModelOutcome::kRefused, status.message()};
}

ModelCheck Wrong(std::string message) { return {ModelOutcome::kWrong, std::move(message)}; }

/// Compares by the tolerance of the type, or else by the magnitudes of the values that the output
/// was computed from.
Result<Comparison> CompareOutput(const Graph& graph, std::span<const Tensor> inputs, int id,
                                 const Tensor& seen, const Tensor& expected) {
  Comparison comparison = Compare(seen, expected);
  if (comparison.ok || graph.node(id).kind != NodeKind::kOperator) return comparison;
  RunValues values(graph, inputs, 1);
  const auto reference = values.Reference(id);
  TW_RETURN_IF_ERROR(reference);
  const auto bounded = values.Bounded();
  TW_RETURN_IF_ERROR(bounded);
  return CompareBounded(seen, *bounded, reference->tolerance);
}

}  // namespace

ModelCheck CheckModel(const std::string& bytes, const CompileOptions& options,
                      const std::string& folder) {
  auto graph = ImportOnnx(bytes, "random");
  if (!graph.ok()) return Refused(graph.status());
  std::vector<Tensor> inputs;
  for (int id : graph->inputs()) {
    inputs.push_back(MakeSyntheticInput(graph->node(id).name, graph->node(id).type,
                                        SyntheticInputRule::kRandom));
  }
  const auto expected = EvaluateGraph(*graph, inputs);
  if (!expected.ok()) return Refused(expected.status());
  const auto compiled = Compile(*std::move(graph), options, folder + "/model.so");
  if (!compiled.ok()) return Refused(compiled.status());
  auto model = ModelLibrary::Open(compiled->library_path);
  if (!model.ok()) return Refused(model.status());
  const auto outputs = model->Run(inputs);
  if (!outputs.ok()) return Refused(outputs.status());

  auto again = ImportOnnx(bytes, "random");
  if (!again.ok()) return Refused(again.status());
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const int id = again->outputs()[i];
    const auto comparison = CompareOutput(*again, inputs, id, (*outputs)[i], (*expected)[i]);
    if (!comparison.ok()) return Refused(comparison.status());
    if (!comparison->ok) {
      const auto at = comparison->first_bad;
      return Wrong("output " + again->node(id).name + ", element " + std::to_string(at) + ": " +
                   std::to_string((*outputs)[i].At(at)) + ", expected " +
                   std::to_string((*expected)[i].At(at)));
    }
  }
  const auto report = Verify(*PartitionLike(*std::move(again), *model), *model, inputs, {});
  if (!report.ok()) return Refused(report.status());
  return report->ok() ? ModelCheck() : Wrong(report->Summary());
}

}  // namespace tilewright
