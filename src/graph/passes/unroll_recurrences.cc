#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/recurrence.h"

namespace tilewright {
namespace {

bool IsShortRecurrence(const Graph& graph, const Node& node, std::int64_t kept) {
  return node.kind == NodeKind::kOperator && node.op.kind == OpKind::kRecurrence &&
         graph.node(node.inputs[0]).type.shape[0] < kept;
}

Status UnrollNode(Rewriter& rewriter, int id) {
  const Node& node = rewriter.source().node(id);
  std::vector<TensorType> types;
  for (int input : node.inputs) types.push_back(rewriter.source().node(input).type);
  const auto list = UnrolledList(node.op, types);
  if (!list.ok()) return list.status().WithContext(rewriter.source().DescribeOrigin(id));
  Graph& result = rewriter.result();
  const std::string part = node.name + (IsLocalName(node.name) ? "step" : "#step");
  std::vector<int> values;
  std::size_t parameter = 0;
  for (const OperatorListValue& value : list->values()) {
    const std::string name = part + std::to_string(values.size());
    if (value.scalar) {
      values.push_back(result.AddConstant(name, ScalarTensor(value)));
    } else if (!value.op) {
      values.push_back(rewriter.At(node.inputs[parameter++]));
    } else {
      std::vector<int> operands;
      for (int operand : value.operands)
        operands.push_back(values[static_cast<std::size_t>(operand)]);
      const bool last = values.size() + 1 == list->values().size();
      TW_ASSIGN_OR_RETURN(auto own, last
                                        ? rewriter.CopyAs(id, *value.op, std::move(operands))
                                        : result.AddOperator(name, *value.op, std::move(operands)));
      values.push_back(own);
    }
  }
  rewriter.Map(id, values.back());
  return Status();
}

}  // namespace

Result<Graph> UnrollRecurrences(Graph graph, std::int64_t kept) {
  const auto unrolls = [kept](const Graph& owner, int id) {
    return IsShortRecurrence(owner, owner.node(id), kept);
  };
  bool any = false;
  for (int id = 0; id < graph.size(); ++id) any = any || unrolls(graph, id);
  if (!any) return graph;
  Rewriter rewriter(std::move(graph));
  for (int id = 0; id < rewriter.source().size(); ++id) {
    TW_RETURN_IF_ERROR(unrolls(rewriter.source(), id) ? UnrollNode(rewriter, id)
                                                      : rewriter.Copy(id));
  }
  return rewriter.Finish();
}

}  // namespace tilewright
