#pragma once

#include <optional>
#include <span>
#include <string>

#include "src/compiler/check/verify.h"
#include "src/compiler/run/run_values.h"

namespace tilewright {

/// Compares a run of a graph with the reference evaluator, operator by operator, whatever runs it:
/// each operator is evaluated on the values that the run itself gave it, so that nothing adds up.
class OperatorVerifier {
 public:
  /// graph: outlives this. inputs: those of the run, of exactly the types of graph.inputs().
  OperatorVerifier(const Graph& graph, std::span<const Tensor> inputs,
                   const VerifyOptions& options);

  /// Compares the run's value of a node and adds the check to the report.
  /// op: what the run says that it executed. least: tolerance that its kernel needs anyhow.
  /// Errors: those of RunValues::Reference.
  Status Check(int node, std::string op, Tensor result, std::optional<double> least = std::nullopt);
  /// Takes over the run's value of a node without a comparison.
  void Observe(int node, Tensor result) { values_.Observe(node, std::move(result)); }
  /// Adds a check of something that is no operator.
  void Add(OperatorCheck check);

  VerifyReport Finish() { return std::move(report_); }

 private:
  const Graph& graph_;
  const VerifyOptions options_;
  RunValues values_;
  VerifyReport report_;
};

}  // namespace tilewright
