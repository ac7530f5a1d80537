#include "src/compiler/check/operator_verifier.h"

#include <algorithm>
#include <utility>

#include "src/compiler/run/real_values.h"

namespace tilewright {

OperatorVerifier::OperatorVerifier(const Graph& graph, std::span<const Tensor> inputs,
                                   const VerifyOptions& options)
    : graph_(graph), options_(options), values_(graph, inputs, options.threads) {
  report_.made_up_constants = graph.made_up_constants;
}

void OperatorVerifier::Add(OperatorCheck check) {
  if (!check.comparison.ok && !report_.first_bad) report_.first_bad = report_.checks.size();
  report_.checks.push_back(std::move(check));
}

Status OperatorVerifier::Check(int node, std::string op, Tensor result,
                               std::optional<double> least) {
  const auto reference = values_.Reference(node);
  TW_RETURN_IF_ERROR(reference);
  const auto tolerance =
      options_.tolerance ? options_.tolerance : std::max(reference->tolerance, least);
  OperatorCheck check{graph_.node(node).name, std::move(op),
                      Compare(result, *reference->value, tolerance), 0};
  if (!check.comparison.ok && !options_.tolerance) {
    // What is summed may be much larger than what is left of it.
    const auto bounded = values_.Bounded();
    TW_RETURN_IF_ERROR(bounded);
    check.comparison = CompareBounded(result, *bounded, tolerance);
  }
  if (!check.comparison.ok) {
    check.unlike =
        CompareReals(RealValues::Of(result, {}), RealValues::Of(*reference->value, {})).unlike;
  }
  Add(std::move(check));
  if (graph_.node(node).kind == NodeKind::kOperator) values_.Observe(node, std::move(result));
  return Status();
}

}  // namespace tilewright
