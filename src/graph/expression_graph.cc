#include "src/graph/expression_graph.h"

namespace tilewright {

Result<Graph> GraphOfExpression(const Expression& expression, std::string name) {
  Graph graph;
  graph.name = std::move(name);
  std::vector<int> inputs;
  for (const ExpressionInput& input : expression.inputs) {
    inputs.push_back(graph.AddInput(input.name, input.type));
  }
  Operator op{OpKind::kExpression, {}};
  op.attributes.expression = expression;
  TW_ASSIGN_OR_RETURN(auto result, graph.AddOperator(expression.stages.back().name, std::move(op),
                                                     std::move(inputs)));
  graph.SetOutputs({result});
  return graph;
}

}  // namespace tilewright
