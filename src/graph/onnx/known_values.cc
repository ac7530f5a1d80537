// Evaluates values that follow from constants with the reference evaluator: conditions of If and
// Loop, scales of Resize, and other constant arithmetic that exporters emit.

#include "src/graph/onnx/known_values.h"

#include <algorithm>

#include "src/tensor/operator_table.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/windows.h"

namespace tilewright {
namespace {

constexpr std::int64_t kTooMuchWork = KnownValues::kMaxWork + 1;

// Returns a * b, or kTooMuchWork if that is less.
std::int64_t SaturatedWork(std::int64_t a, std::int64_t b) {
  return a > 0 && b > KnownValues::kMaxWork / a ? kTooMuchWork : a * b;
}

// Returns an upper bound of an operator's cost. For a matrix product: elements of the result times
// elements of an operand. For a pooling: elements of the result times the whole window (which can
// be larger than the image).
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
    case OpFamily::kExpression:  // its length is unlimited
      return kTooMuchWork;
  }
  return kTooMuchWork;
}

}  // namespace

const Tensor* KnownValues::Find(const Graph& graph, int id) {
  if (graph.node(id).kind != NodeKind::kOperator) return graph.Contents(id);
  if (const auto found = computed_.find(id); found != computed_.end()) return &found->second;
  // Evaluates inputs before their readers, without recursion: a chain can be as long as the file.
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
