// What follows from constants, by the reference evaluator: conditions of If and Loop, scales of
// Resize, whatever exporters leave as arithmetic on constants.

#include "src/graph/onnx/known.h"

#include <algorithm>

#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

// What an operator may cost, from above: of a product of matrices, or of windows, every element of
// the result times every element of an operand.
std::int64_t FoldingWork(const Graph& graph, const Node& node) {
  constexpr std::int64_t kMostOfARecurrence = std::int64_t{1} << 20;
  std::int64_t largest = node.type.elements();
  for (int input : node.inputs) largest = std::max(largest, graph.node(input).type.elements());
  if (IsAnchor(node.op.kind)) {
    const std::int64_t weight = graph.node(node.inputs[1]).type.elements();
    return node.type.elements() * std::max<std::int64_t>(weight, 1);
  }
  return node.op.kind == OpKind::kRecurrence ? kMostOfARecurrence * largest : largest;
}

}  // namespace

const Tensor* KnownValues::Find(const Graph& graph, int id) {
  if (graph.node(id).kind != NodeKind::kOperator) return graph.Contents(id);
  if (const auto found = computed_.find(id); found != computed_.end()) return &found->second;
  // Inputs before what reads them. A chain may be as long as the file: no recursion.
  std::vector<int> waiting = {id};
  while (!waiting.empty()) {
    const int next = waiting.back();
    const Node& node = graph.node(next);
    std::vector<int> missing;
    bool known = node.type.elements() <= kMaxElements && !unknown_.contains(next);
    for (int input : node.inputs) {
      const Node& from = graph.node(input);
      if (from.kind != NodeKind::kOperator) {
        known &= graph.HasContents(input) && from.type.elements() <= kMaxElements;
      } else if (unknown_.contains(input)) {
        known = false;
      } else if (!computed_.contains(input)) {
        missing.push_back(input);
      }
    }
    if (known && !missing.empty()) {
      waiting.insert(waiting.end(), missing.begin(), missing.end());
      continue;
    }
    waiting.pop_back();
    if (!computed_.contains(next) && !(known && Compute(graph, next))) unknown_.insert(next);
  }
  const auto found = computed_.find(id);
  return found == computed_.end() ? nullptr : &found->second;
}

bool KnownValues::Compute(const Graph& graph, int id) {
  const Node& node = graph.node(id);
  const std::int64_t work = FoldingWork(graph, node);
  if (work > kMaxWork - work_) return false;
  std::vector<const Tensor*> operands;
  for (int input : node.inputs) {
    const auto found = computed_.find(input);
    operands.push_back(found == computed_.end() ? graph.Contents(input) : &found->second);
  }
  auto value = Evaluate(node.op, operands);
  if (!value.ok()) return false;
  work_ += work;
  computed_.emplace(id, *std::move(value));
  return true;
}

}  // namespace tilewright
