#include "src/compiler/check/verify.h"
#include "src/base/text/plural.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/compiler/check/check_process.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/real_values.h"
#include "src/compiler/run/run_values.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/open/positions.h"
#include "src/graph/open/sequence.h"
#include "src/graph/partition/partition.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

/// Errors: kInvalidArgument unless graph and library have the same inputs and outputs.
Status CheckSame(const Graph& graph, const RunnableNetwork& model) {
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

/// Comparison of a run with the reference, each operator evaluated on the run's own values.
class OperatorVerifier {
 public:
  /// inputs: of exactly the types of graph.inputs().
  OperatorVerifier(const Graph& graph, std::span<const Tensor> inputs, const VerifyOptions& options)
      : graph_(graph), options_(options), values_(graph, inputs, options.threads) {
    report_.synthetic_constants = graph.synthetic_constants;
  }

  /// Takes the run's value of a node and compares it, unless the reference computed it.
  Status Take(int node, const ModelOperator& op, Tensor result) {
    if (!op.is_reference) TW_RETURN_IF_ERROR(Check(node, op, result));
    if (graph_.node(node).kind == NodeKind::kOperator) values_.Observe(node, std::move(result));
    return Status();
  }
  /// Adds a check of a value that is no operator's.
  void Add(OperatorCheck check) {
    if (!check.comparison.ok && !report_.first_bad) report_.first_bad = report_.checks.size();
    report_.checks.push_back(std::move(check));
  }
  VerifyReport Finish() { return std::move(report_); }

 private:
  Status Check(int node, const ModelOperator& op, const Tensor& result) {
    TW_ASSIGN_OR_RETURN(const auto reference, values_.Reference(node));
    report_.elements += result.elements();
    const auto tolerance =
        options_.tolerance ? options_.tolerance : std::max(reference.tolerance, op.tolerance);
    OperatorCheck check{graph_.node(node).name, op.Description(),
                        Compare(result, *reference.value, tolerance), 0};
    if (!check.comparison.ok && !options_.tolerance) {
      // Terms may be much larger than their sum.
      TW_ASSIGN_OR_RETURN(const auto bounded, values_.Bounded(op.winograd_tile));
      check.comparison = CompareBounded(result, bounded, tolerance);
    }
    if (!check.comparison.ok) {
      check.non_finite_mismatches =
          CompareReals(RealValues::Of(result, {}), RealValues::Of(*reference.value, {}))
              .non_finite_mismatches;
    }
    Add(std::move(check));
    return Status();
  }

  const Graph& graph_;
  const VerifyOptions& options_;
  RunValues values_;
  VerifyReport report_;
};

/// Runs the network; `verifier` gets the result of each operator and compares it.
Result<std::vector<Tensor>> CompareOperators(const Graph& graph, const RunnableNetwork& network,
                                             std::span<const Tensor> inputs, CheckProgress* told,
                                             OperatorVerifier& verifier) {
  std::map<std::string_view, int> by_name;
  for (int id = 0; id < graph.size(); ++id) by_name.emplace(graph.node(id).name, id);
  const auto compare = [&](std::size_t index, Tensor result) -> Status {
    const ModelOperator& op = network.operators()[index];
    const auto node = by_name.find(op.result.name);
    if (node == by_name.end() || graph.node(node->second).type != op.result.type) {
      return InvalidArgument(fmt::format("library {} was made from another graph than {}: value {}",
                                         network.name(), graph.name, op.result.name));
    }
    return verifier.Take(node->second, op, std::move(result));
  };
  CheckProgress unused;
  CheckProgress& progress = told != nullptr ? *told : unused;
  const auto observe = [&](std::size_t index, Tensor result) {
    progress.End();
    Status status = compare(index, std::move(result));
    progress.Begin(static_cast<std::int64_t>(index) + 1);
    return status;
  };
  progress.Begin(0);
  auto outputs = network.RunObserved(inputs, observe);
  progress.End();
  return outputs;
}

/// Errors: kInvalidArgument unless both have outputs of the same types.
Status CheckOutputs(const Graph& graph, const Graph& source) {
  const auto same = [&](int made, int read) {
    return graph.node(made).type == source.node(read).type;
  };
  if (std::ranges::equal(graph.outputs(), source.outputs(), same)) return Status();
  return InvalidArgument("made from another graph than " + source.name + ": the outputs differ");
}

/// Compares outputs with those of the reference evaluator on a whole graph.
Status CompareOutputs(const Graph& source, std::span<const Tensor> inputs,
                      std::span<const Tensor> outputs, const VerifyOptions& options,
                      OperatorVerifier& verifier) {
  TW_ASSIGN_OR_RETURN(const auto expected,
                      EvaluateGraph(source, inputs, KeepValues::kOutputs, options.threads));
  RunValues made(source, inputs, options.threads);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const int id = source.outputs()[i];
    auto comparison = Compare(outputs[i], expected[i], options.tolerance);
    if (!comparison.ok && !options.tolerance && source.node(id).kind == NodeKind::kOperator) {
      // Values that the host computes from the accelerator's integers are judged by the magnitudes
      // of their terms.
      TW_RETURN_IF_ERROR(made.Reference(id));
      TW_ASSIGN_OR_RETURN(const auto bounded, made.Bounded());
      comparison = CompareBounded(outputs[i], bounded);
    }
    verifier.Add({source.node(id).name, "output of the model", comparison});
  }
  return Status();
}

/// Verifies a library on random inputs. source: as Verify takes it.
Result<VerifyReport> VerifyOnRandomInputs(const PartitionedGraph& source,
                                          const ModelLibrary& library, CheckProgress& progress) {
  constexpr int kThreads = 2;
  std::vector<Tensor> inputs;
  for (const ModelValue& value : library.inputs()) {
    inputs.push_back(MakeSyntheticInput(value.name, value.type, SyntheticInputRule::kRandom));
  }
  VerifyOptions options;
  options.threads = kThreads;
  options.progress = &progress;
  return Verify(source, library, inputs, options);
}

}  // namespace

bool IsLibraryOf(const Graph& graph, const ModelLibrary& model) {
  if (!CheckSame(graph, model).ok()) return false;
  std::map<std::string_view, const TensorType*> types;
  for (const Node& node : graph.nodes()) types.emplace(node.name, &node.type);
  return std::ranges::all_of(model.operators(), [&](const ModelOperator& op) {
    if (SourceName(op.result.name) != op.result.name) return true;  // added by a pass
    const auto found = types.find(op.result.name);
    return found != types.end() && *found->second == op.result.type;
  });
}

std::string VerifyReport::Summary() const {
  if (!first_bad)
    return Counted(std::ssize(checks), "operator") +
           (checks.size() == 1 ? " agrees with the reference" : " agree with the reference");
  const OperatorCheck& bad = checks[*first_bad];
  return fmt::format(
      "operator {} ({}, {}) differs from the reference: element {}, largest error {:.3g}, "
      "reference RMS {:.3g}{}; the {} before it agree",
      *first_bad, bad.value, bad.op, bad.comparison.first_bad, bad.comparison.max_abs_error,
      bad.comparison.reference_rms, NonFiniteMismatchText(bad.non_finite_mismatches), *first_bad);
}

Result<PartitionedGraph> PartitionLike(Graph graph, const RunnableNetwork& network) {
  PartitionRule rule;
  rule.machine_code = network.machine_code();
  rule.open_positions = network.open_positions();
  return Partition(std::move(graph), rule);
}

Result<VerifyReport> Verify(const PartitionedGraph& source, const RunnableNetwork& network,
                            std::span<const Tensor> inputs, const VerifyOptions& options) {
  const Graph& made = source.graph;
  TW_RETURN_IF_ERROR(CheckSame(made, network));
  TW_RETURN_IF_ERROR(CheckGraphInputs(made, inputs));
  OperatorVerifier verifier(made, inputs, options);
  TW_RETURN_IF_ERROR(CompareOperators(made, network, inputs, options.progress, verifier));
  return verifier.Finish();
}

Result<VerifyReport> VerifyFile(const Graph& graph, const std::string& library_path, int set,
                                CheckProgress& progress) {
  TW_ASSIGN_OR_RETURN(auto library, ModelLibrary::Open(library_path, set));
  if (library.open_dimension() != nullptr) TW_RETURN_IF_ERROR(library.Resize(1));
  TW_ASSIGN_OR_RETURN(const auto source, PartitionLike(graph.Clone(), library));
  return VerifyOnRandomInputs(source, library, progress);
}

Result<VerifyReport> VerifyLength(const SequenceNetwork& network, const std::string& library_path,
                                  CheckProgress& progress) {
  constexpr std::int64_t kLength = 37;
  TW_ASSIGN_OR_RETURN(auto library, ModelLibrary::Open(library_path));
  const std::int64_t length = std::min(kLength, network.range.most);
  TW_RETURN_IF_ERROR(library.Resize(length));
  TW_ASSIGN_OR_RETURN(const auto source, network.At(length));
  return VerifyOnRandomInputs(source, library, progress);
}

Result<VerifyReport> VerifyPositions(const PositionNetwork& network,
                                     const std::string& library_path, CheckProgress& progress) {
  TW_ASSIGN_OR_RETURN(auto library, ModelLibrary::Open(library_path));
  const std::int64_t blocks = network.LargeUnit() + network.SmallUnit() + 1;
  const std::int64_t size = std::clamp(blocks, network.range.least, network.range.most);
  TW_RETURN_IF_ERROR(library.Resize(size));
  TW_ASSIGN_OR_RETURN(const auto source, network.At(size));
  return VerifyOnRandomInputs(source, library, progress);
}

Result<VerifyReport> VerifyPlanned(const Plan& plan, const RunnableNetwork& network,
                                   const Graph* source, std::span<const Tensor> inputs,
                                   const VerifyOptions& options) {
  if (source != nullptr) TW_RETURN_IF_ERROR(CheckOutputs(plan.graph, *source));
  TW_RETURN_IF_ERROR(CheckGraphInputs(plan.graph, inputs));
  OperatorVerifier verifier(plan.graph, inputs, options);
  TW_ASSIGN_OR_RETURN(auto outputs,
                      CompareOperators(plan.graph, network, inputs, options.progress, verifier));
  if (source == nullptr) return verifier.Finish();
  TW_RETURN_IF_ERROR(CompareOutputs(*source, inputs, outputs, options, verifier));
  VerifyReport report = verifier.Finish();
  report.synthetic_constants = source->synthetic_constants;
  return report;
}

}  // namespace tilewright
