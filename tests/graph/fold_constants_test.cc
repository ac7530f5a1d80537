// Operators on constants that occur several times, as in unrolled loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/graph/passes/passes.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

// Four steps: x = x * transpose(weight), the last one with other axes. known: the weight has
// contents.
Graph Steps(bool known) {
  Graph graph;
  int x = graph.AddInput("x", {{2, 2}, kFloat32});
  const int weight = known ? graph.AddConstant("weight", MakeRange(kFloat32, {2, 2}))
                           : graph.AddConstant("weight", TensorType{{2, 2}, kFloat32});
  for (int step = 0; step < 4; ++step) {
    Operator transpose{OpKind::kTranspose, {}};
    transpose.attributes.axes = step == 3 ? Ints{0, 1} : Ints{1, 0};
    const std::string name = std::to_string(step);
    const int moved = *graph.AddOperator("moved" + name, transpose, {weight});
    x = *graph.AddOperator("y" + name, Operator{OpKind::kMul, {}}, {x, moved});
  }
  graph.SetOutputs({x});
  return graph;
}

std::int64_t ConstantsOf(const Graph& graph) {
  return std::ranges::count(graph.nodes(), NodeKind::kConstant, &Node::kind);
}

TEST(FoldConstants, FoldsEqualOperatorsOnce) {
  for (const bool known : {true, false}) {
    auto folded = FoldConstants(Steps(known));
    ASSERT_TRUE(folded.ok()) << folded.status().message();
    EXPECT_EQ(ConstantsOf(*folded), 2);
    const auto weight = [&](const std::string& step) {
      return std::ranges::find(folded->nodes(), "y" + step, &Node::name)->inputs[1];
    };
    EXPECT_EQ(weight("0"), weight("2"));
    EXPECT_NE(weight("0"), weight("3"));
    if (!known) continue;
    EXPECT_EQ(ValuesOf(*folded->Contents(weight("0"))), (std::vector<double>{0, 2, 1, 3}));
    EXPECT_EQ(ValuesOf(*folded->Contents(weight("3"))), (std::vector<double>{0, 1, 2, 3}));
  }
}

TEST(FoldConstants, EqualOutputsKeepTheirNames) {
  Graph graph;
  const int one = graph.AddConstant("one", MakeRange(kFloat32, {2}, 1));
  const int a = *graph.AddOperator("a", Operator{OpKind::kNegate, {}}, {one});
  const int b = *graph.AddOperator("b", Operator{OpKind::kNegate, {}}, {one});
  graph.SetOutputs({a, b});
  auto folded = FoldConstants(std::move(graph));
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_EQ(folded->node(folded->outputs()[0]).name, "a");
  EXPECT_EQ(folded->node(folded->outputs()[1]).name, "b");
}

}  // namespace
}  // namespace tilewright
