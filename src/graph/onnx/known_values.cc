// What follows from constants, by the reference evaluator: conditions of If and Loop, scales of
// Resize, whatever exporters leave as arithmetic on constants.

#include "src/graph/onnx/known_values.h"

#include <algorithm>

#include "src/tensor/operator_table.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/windows.h"

namespace tilewright {
namespace {

constexpr std::int64_t kTooMuchWork = KnownValues::kMaxWork + 1;

// a * b, or kTooMuchWork if that is less.
std::int64_t SaturatedWork(std::int64_t a, std::int64_t b) {
  return a > 0 && b > KnownValues::kMaxWork / a ? kTooMuchWork : a * b;
}

// What an operator may cost, from above: of a product of matrices every element of the result times
// every element of an operand, of a pool every element of the result times its whole window (which
// may be larger than the image).
std::int64_t FoldingWork(const Graph& graph, const Node& node) {
  constexpr std::int64_t kMaxOfARecurrence = std::int64_t{1} << 20;
  const std::int64_t made = node.type.elements();
  std::int64_t largest = made;
  for (int input : node.inputs) largest = std::max(largest, graph.node(input).type.elements());
  switch (FamilyOf(node.op.kind)) {
    case OpFamily::kUnary:
    case OpFamily::kBinary:
    case OpFamily::kComparisonOrSelect:
    case OpFamily::kReduction:
    case OpFamily::kDataMovement:
      return largest;
    case OpFamily::kNormalization:
      if (node.op.kind != OpKind::kLrn) return largest;
      return SaturatedWork(largest, graph.node(node.inputs[0]).type.shape[1]);
    case OpFamily::kAnchor:
      return SaturatedWork(made,
                           std::max<std::int64_t>(graph.node(node.inputs[1]).type.elements(), 1));
    case OpFamily::kPool: {
      const auto window = PoolWindowOf(node.op, graph.node(node.inputs[0]).type);
      if (!window.ok()) return kTooMuchWork;
      return std::max(largest, SaturatedWork(SaturatedWork(made, window->pool_h), window->pool_w));
    }
    case OpFamily::kRecurrence:
      return SaturatedWork(largest, kMaxOfARecurrence);
    case OpFamily::kExpression:  // of any length
      return kTooMuchWork;
  }
  return kTooMuchWork;
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
