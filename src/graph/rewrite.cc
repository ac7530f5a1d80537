#include "src/graph/rewrite.h"

namespace tilewright {

Status Rewriter::Copy(int old_id) {
  const Node& node = source_.node(old_id);
  switch (node.kind) {
    case NodeKind::kInput:
      Map(old_id, result_.AddInput(node.name, node.type));
      break;
    case NodeKind::kConstant:
      if (const double* fill = source_.Fill(old_id)) {
        Map(old_id, result_.AddFilledConstant(node.name, node.type, *fill));
      } else if (source_.HasContents(old_id)) {
        Map(old_id, result_.AddConstant(node.name, source_.TakeContents(old_id)));
      } else {
        Map(old_id, result_.AddConstant(node.name, node.type));
      }
      break;
    case NodeKind::kOperator: {
      std::vector<int> inputs;
      for (int input : node.inputs) inputs.push_back(At(input));
      auto id = result_.AddOperator(node.name, node.op, std::move(inputs));
      TW_RETURN_IF_ERROR(id);
      Map(old_id, *id);
      break;
    }
  }
  return Status();
}

Graph Rewriter::Finish() {
  std::vector<int> outputs;
  for (int id : source_.outputs()) outputs.push_back(At(id));
  result_.SetOutputs(std::move(outputs));
  return Prune(std::move(result_));
}

Graph Prune(Graph graph) {
  std::vector<bool> needed(graph.nodes().size(), false);
  for (int id : graph.outputs()) needed[static_cast<std::size_t>(id)] = true;
  for (int id = graph.size() - 1; id >= 0; --id) {
    if (graph.node(id).kind == NodeKind::kInput) needed[static_cast<std::size_t>(id)] = true;
    if (!needed[static_cast<std::size_t>(id)]) continue;
    for (int input : graph.node(id).inputs) needed[static_cast<std::size_t>(input)] = true;
  }
  Rewriter rewriter(std::move(graph));
  for (int id = 0; id < rewriter.source().size(); ++id) {
    if (!needed[static_cast<std::size_t>(id)]) continue;
    const Status status = rewriter.Copy(id);
    TW_CHECK(status.ok(), status.message());  // the types were inferred before
  }
  std::vector<int> outputs;
  for (int id : rewriter.source().outputs()) outputs.push_back(rewriter.At(id));
  rewriter.result().SetOutputs(std::move(outputs));
  return std::move(rewriter.result());
}

}  // namespace tilewright
