// Relay text of the operators that the operator table writes and reads.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/relay/export.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

/// Sets attributes that differ from all defaults.
Operator WithArguments(const OperatorRow& row) {
  Operator op{row.kind, {}};
  OpAttributes& a = op.attributes;
  a.a_min = -0.5, a.a_max = 0.75, a.alpha = 0.1, a.beta = 0.25;
  a.multiplier = 1466124156, a.shift = -3, a.dtype = kInt8;
  return op;
}

std::string TextOf(const Graph& graph) {
  const auto text = ExportRelay(graph);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

TEST(RelayOperators, AreReadAsTheyAreWritten) {
  int tried = 0;
  for (const OperatorRow* row : AllOperators()) {
    if (!IsElementwise(row->kind) || row->relay.empty()) continue;
    SCOPED_TRACE(row->name);
    const bool whole = row->domain == Domain::kShift || row->kind == OpKind::kFixedPointMultiply;
    const TensorType type{{2, 3}, whole ? kInt32 : kFloat32};
    Graph graph;
    std::vector<int> inputs = {graph.AddInput("x", type)};
    if (row->family == OpFamily::kBinary) inputs.push_back(graph.AddInput("y", type));
    const auto id = graph.AddOperator("result", WithArguments(*row), inputs);
    ASSERT_TRUE(id.ok()) << id.status().message();
    graph.SetOutputs({*id});
    const std::string text = TextOf(graph);
    EXPECT_NE(text.find(" " + std::string(row->relay) + "(%x"), std::string::npos) << text;
    const auto again = ImportRelay(text, "again");
    ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << text;
    const Node& node = again->node(again->outputs()[0]);
    EXPECT_EQ(node.op.kind, row->kind);
    for (const OpArgument& argument : row->arguments) {
      std::visit(
          [&](auto field) {
            EXPECT_TRUE(node.op.attributes.*field == graph.node(*id).op.attributes.*field)
                << argument.name << "\n"
                << text;
          },
          argument.field);
    }
    EXPECT_EQ(TextOf(*again), text);
    ++tried;
  }
  EXPECT_GE(tried, 26);
}

TEST(RelayOperators, WithNumbersThatLiteralsLackHaveNoText) {
  Graph graph;
  const int x = graph.AddInput("x", {{2}, kFloat32});
  Operator op{OpKind::kLeakyRelu, {}};
  op.attributes.alpha = std::numeric_limits<double>::infinity();
  graph.SetOutputs({*graph.AddOperator("result", op, {x})});
  EXPECT_FALSE(ExportRelay(graph).ok());
}

}  // namespace
}  // namespace tilewright
