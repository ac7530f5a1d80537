#include "src/graph/ir/rewrite.h"

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
      TW_ASSIGN_OR_RETURN(auto id, CopyAs(old_id, node.op, std::move(inputs)));
      Map(old_id, id);
      break;
    }
  }
  return Status();
}

Result<int> Rewriter::CopyAs(int old_id, Operator op, std::vector<int> inputs) {
  const Node& node = source_.node(old_id);
  auto id = result_.AddOperator(node.name, std::move(op), std::move(inputs));
  if (!id.ok()) return id;
  result_.Annotate(*id, node.source, node.annotation);
  result_.SetSite(*id, node.site);
  return id;
}

Result<int> Rewriter::AddCast(const std::string& name, DataType to, int value) {
  Operator cast{OpKind::kCast, {}};
  cast.attributes.dtype = to;
  return result_.AddOperator(name, std::move(cast), {value});
}

Graph Rewriter::Finish() {
  std::vector<int> outputs;
  for (int id : source_.outputs()) outputs.push_back(At(id));
  result_.SetOutputs(std::move(outputs));
  return Prune(std::move(result_));
}

std::vector<int> PostOrder(const Graph& graph) {
  std::vector<int> order = graph.inputs();
  std::vector<bool> done(graph.nodes().size(), false);
  for (int id : order) done[static_cast<std::size_t>(id)] = true;
  struct Visit {
    int id;
    std::size_t next_input;
  };
  for (int output : graph.outputs()) {
    std::vector<Visit> stack{{output, 0}};
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const auto& inputs = graph.node(visit.id).inputs;
      if (done[static_cast<std::size_t>(visit.id)]) {
        stack.pop_back();
      } else if (visit.next_input < inputs.size()) {
        const int input = inputs[visit.next_input++];
        stack.push_back({input, 0});
      } else {
        done[static_cast<std::size_t>(visit.id)] = true;
        order.push_back(visit.id);
        stack.pop_back();
      }
    }
  }
  return order;
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
    TW_CHECK(status.ok(), status.message());  // types were inferred before
  }
  std::vector<int> outputs;
  for (int id : rewriter.source().outputs()) outputs.push_back(rewriter.At(id));
  rewriter.result().SetOutputs(std::move(outputs));
  return std::move(rewriter.result());
}

}  // namespace tilewright
