#include "src/compiler/run/run_values.h"

#include <map>
#include <utility>

#include "src/tensor/reference/reference.h"

namespace tilewright {

RunValues::RunValues(const Graph& graph, std::span<const Tensor> inputs, int threads)
    : graph_(graph), threads_(threads), made_(graph.nodes().size()), known_(made_.size(), false) {
  const std::vector<int> ids = graph.inputs();
  for (std::size_t i = 0; i < ids.size(); ++i) Observe(ids[i], inputs[i].Clone());
}

void RunValues::Observe(int id, Tensor value) {
  made_[static_cast<std::size_t>(id)] = std::move(value);
  known_[static_cast<std::size_t>(id)] = true;
}

const Tensor* RunValues::ValueOf(int id) const {
  if (graph_.node(id).kind == NodeKind::kConstant) return graph_.Contents(id);
  return &made_[static_cast<std::size_t>(id)];
}

Status RunValues::EvaluateNode(int id) {
  const Node& node = graph_.node(id);
  std::vector<const Tensor*> operands;
  for (const int input : node.inputs) {
    operands.push_back(ValueOf(input));
    if (operands.back() == nullptr) {
      return InvalidArgument("constant " + graph_.node(input).name + " has no contents");
    }
  }
  auto result = Evaluate(node.op, operands, threads_);
  if (!result.ok()) return result.status().WithContext(graph_.DescribeOrigin(id));
  Observe(id, *std::move(result));
  return {};
}

Result<RunValues::ReferenceValue> RunValues::Reference(int id) {
  std::vector<bool> wanted(static_cast<std::size_t>(id) + 1, false);
  wanted.back() = true;
  const auto missing = [&](int node) {
    const auto position = static_cast<std::size_t>(node);
    return wanted[position] && !known_[position] && graph_.node(node).kind == NodeKind::kOperator;
  };
  for (int node = id; node >= 0; --node) {
    if (!missing(node)) continue;
    for (const int input : graph_.node(node).inputs) wanted[static_cast<std::size_t>(input)] = true;
  }
  ReferenceValue reference;
  asked_ = id;
  evaluated_.clear();
  for (int node = 0; node <= id; ++node) {
    if (!missing(node)) continue;
    TW_RETURN_IF_ERROR(EvaluateNode(node));
    evaluated_.push_back(node);
    if (graph_.node(node).type.dtype == kFloat16) reference.tolerance = kToleranceOfFloat16;
  }
  reference.value = ValueOf(id);
  if (reference.value != nullptr) return reference;
  return InvalidArgument("constant " + graph_.node(id).name + " has no contents");
}

Result<BoundedTensor> RunValues::Bounded(std::int64_t winograd_tile) {
  std::map<int, BoundedTensor> values;
  for (const int id : evaluated_) {
    const Node& node = graph_.node(id);
    for (const int input : node.inputs) {
      if (values.contains(input)) continue;
      const Tensor* known = ValueOf(input);
      if (known == nullptr) {
        return InvalidArgument("constant " + graph_.node(input).name + " has no contents");
      }
      values.emplace(input, BoundedTensor{known->Clone(), Tensor()});
    }
    std::vector<const BoundedTensor*> operands;
    for (const int input : node.inputs) operands.push_back(&values.at(input));
    auto result = EvaluateBounded(node.op, operands, threads_, winograd_tile);
    if (!result.ok()) return result.status().WithContext(graph_.DescribeOrigin(id));
    values.insert_or_assign(id, *std::move(result));
  }
  const auto asked = values.find(asked_);
  if (asked != values.end()) return std::move(asked->second);
  return BoundedTensor{ValueOf(asked_)->Clone(), Tensor()};
}

}  // namespace tilewright
