#include "src/session/compare/compare_forms.h"

#include <utility>

#include "src/base/files/file.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/session/compare/network_progress.h"
#include "src/session/model.h"

namespace tilewright::session {
namespace {

/// Returns true for a library, or a bundle with one.
Result<bool> IsLibrary(const std::string& path) {
  if (FileExists(path + "/graph.json")) return true;
  TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(path));
  return bytes.starts_with("\177ELF");
}

Result<FormReport> CompareWithTrace(const FormComparison& comparison, const Graph& graph,
                                    const std::vector<Tensor>& inputs, const Trace& other) {
  const int threads = comparison.verify.threads;
  TW_ASSIGN_OR_RETURN(auto reference, TraceGraph(graph, inputs, threads));
  const DifferenceOptions options{.tolerance = comparison.verify.tolerance,
                                  .min_sqnr_db = comparison.min_sqnr_db,
                                  .graph = &graph,
                                  .inputs = inputs,
                                  .threads = threads};
  TW_ASSIGN_OR_RETURN(auto report, CompareTraces(reference, other, options));
  return FormReport(std::move(report));
}

Result<FormReport> CompareWithLibrary(const FormComparison& comparison, Graph graph,
                                      const std::vector<Tensor>& inputs) {
  const std::string& file = comparison.other.path;
  const VerifyOptions& options = comparison.verify;
  TW_ASSIGN_OR_RETURN(const auto set, VariantFor(file, graph));
  TW_ASSIGN_OR_RETURN(auto model, comparison.device.OpenLibrary(file, 0, set));
  TW_RETURN_IF_ERROR(model.FitSize(ValuesOf(graph, graph.inputs())));
  RegisterOperators(model, *options.progress);
  if (!comparison.min_sqnr_db && IsLibraryOf(graph, model)) {
    const bool open = model.open_dimension() != nullptr;
    Graph own = open ? graph.Clone() : std::exchange(graph, Graph());
    TW_ASSIGN_OR_RETURN(const auto made_from, PartitionLike(std::move(own), model));
    auto report = Verify(made_from, model, inputs, options);
    // A library of a range has the operators of its least size; at this one they may differ.
    const bool other = !report.ok() && report.status().code() == StatusCode::kInvalidArgument;
    if (!open || !other) {
      TW_RETURN_IF_ERROR(report);
      return FormReport(*std::move(report));
    }
  }
  NoteSyntheticConstants(file, model.synthetic_constants(), comparison.note);
  TW_ASSIGN_OR_RETURN(auto fed, InputsFor(model.inputs(), ValuesOf(graph, graph.inputs()), inputs,
                                          model.quantization_map(), graph.quantization));
  TW_ASSIGN_OR_RETURN(auto trace, TraceLibrary(model, fed, options.progress));
  return CompareWithTrace(comparison, graph, inputs, trace);
}

/// Compares two graphs. Constants of both are folded, because pack writes a bias as operators on a
/// constant.
Result<FormReport> CompareWithGraph(FormComparison& comparison, Graph unfolded,
                                    const std::vector<Tensor>& inputs) {
  comparison.verify.progress->End();  // there is no library
  TW_RETURN_IF_ERROR(comparison.device.CheckUnused());
  TW_ASSIGN_OR_RETURN(const auto graph, FoldConstants(std::move(unfolded)));
  ModelSource& source = comparison.other;  // its names may differ, and its sizes may be fixed
  source.options.ignore_unknown_names = true;
  TW_ASSIGN_OR_RETURN(auto loaded, LoadForRunning(source, comparison.seeded, comparison.note));
  TW_ASSIGN_OR_RETURN(auto other, FoldConstants(std::move(loaded)));
  TW_ASSIGN_OR_RETURN(
      auto fed, InputsFor(ValuesOf(other, other.inputs()), ValuesOf(graph, graph.inputs()), inputs,
                          other.quantization, graph.quantization));
  TW_ASSIGN_OR_RETURN(auto trace, TraceGraph(other, fed, comparison.verify.threads));
  return CompareWithTrace(comparison, graph, inputs, trace);
}

}  // namespace

Result<FormReport> CompareForms(FormComparison comparison) {
  if (comparison.verify.progress == nullptr) {
    return InvalidArgument("verify.progress: expected one");
  }
  TW_ASSIGN_OR_RETURN(auto graph,
                      LoadForRunning(comparison.reference, comparison.seeded, comparison.note));
  TW_ASSIGN_OR_RETURN(const auto inputs, comparison.inputs.Make(ValuesOf(graph, graph.inputs())));
  TW_ASSIGN_OR_RETURN(const bool library, IsLibrary(comparison.other.path));
  return library ? CompareWithLibrary(comparison, std::move(graph), inputs)
                 : CompareWithGraph(comparison, std::move(graph), inputs);
}

}  // namespace tilewright::session
