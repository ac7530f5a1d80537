#include "src/graph/ir/evaluate.h"

#include "src/tensor/reference/reference.h"

namespace tilewright {
Status CheckGraphInputs(const Graph& graph, std::span<const Tensor> inputs) {
  const std::vector<int> ids = graph.inputs();
  if (inputs.size() != ids.size()) {
    return InvalidArgument("got " + std::to_string(inputs.size()) + " inputs, expected " +
                           std::to_string(ids.size()));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Node& node = graph.node(ids[i]);
    if (inputs[i].type() != node.type) {
      return InvalidArgument("input " + node.name + " is " + inputs[i].type().ToString() +
                             ", expected " + node.type.ToString());
    }
  }
  return Status();
}

Result<std::vector<Tensor>> EvaluateGraph(const Graph& graph, std::span<const Tensor> inputs,
                                          KeepValues keep, int threads) {
  const std::vector<int> input_ids = graph.inputs();
  TW_RETURN_IF_ERROR(CheckGraphInputs(graph, inputs));
  const auto count = static_cast<std::size_t>(graph.size());
  std::vector<int> last_use(count, -1);
  for (int id = 0; id < graph.size(); ++id) {
    for (int input : graph.node(id).inputs) last_use[static_cast<std::size_t>(input)] = id;
  }
  for (int id : graph.outputs()) last_use[static_cast<std::size_t>(id)] = graph.size();

  std::vector<Tensor> made(count);  // results of operators
  std::vector<const Tensor*> value(count, nullptr);
  for (std::size_t i = 0; i < input_ids.size(); ++i) {
    value[static_cast<std::size_t>(input_ids[i])] = &inputs[i];
  }
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const auto position = static_cast<std::size_t>(id);
    if (node.kind == NodeKind::kConstant) {
      value[position] = graph.Contents(id);
      if (value[position] == nullptr) {
        return InvalidArgument("constant " + node.name + " has no contents");
      }
    }
    if (node.kind != NodeKind::kOperator) continue;
    std::vector<const Tensor*> operands;
    for (int input : node.inputs) operands.push_back(value[static_cast<std::size_t>(input)]);
    auto result = Evaluate(node.op, operands, threads);
    if (!result.ok()) return result.status().WithContext(graph.DescribeOrigin(id));
    made[position] = *std::move(result);
    value[position] = &made[position];
    if (keep == KeepValues::kAll) continue;
    for (int input : node.inputs) {
      const auto used = static_cast<std::size_t>(input);
      if (last_use[used] == id) made[used] = Tensor();
    }
  }
  if (keep == KeepValues::kAll) return made;
  std::vector<Tensor> outputs;
  for (int id : graph.outputs()) outputs.push_back(value[static_cast<std::size_t>(id)]->Clone());
  return outputs;
}

}  // namespace tilewright
