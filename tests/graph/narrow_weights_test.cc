// Which operators are said to have narrow weights: those whose constants were looked at.

#include <gtest/gtest.h>

#include "src/graph/passes/passes.h"

namespace tilewright {
namespace {

/// Dense layers behind each other, each with one weight of that value among zeros; of `none` the
/// weight has no contents.
constexpr int kNone = 1000;
Graph Layers(const std::vector<int>& values) {
  Graph graph;
  int data = graph.AddInput("data", {{1, 8}, kUInt8});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = "w" + std::to_string(i);
    Tensor weight(TensorType{{8, 8}, kInt8});
    if (values[i] != kNone) weight.Set(63, values[i]);
    const int constant = values[i] == kNone ? graph.AddConstant(name, weight.type())
                                            : graph.AddConstant(name, std::move(weight));
    OpAttributes attributes;
    attributes.dtype = kInt32;
    auto sums =
        graph.AddOperator("v" + std::to_string(i), {OpKind::kDense, attributes}, {data, constant});
    EXPECT_TRUE(sums.ok()) << sums.status().message();
    OpAttributes cast;
    cast.dtype = kUInt8;
    auto bytes = graph.AddOperator("b" + std::to_string(i), {OpKind::kCast, cast}, {*sums});
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    data = *bytes;
  }
  graph.SetOutputs({data});
  return graph;
}

TEST(StateNarrowWeights, LooksAtEveryWeight) {
  auto stated = StateNarrowWeights(Layers({64, 65, -64, -65, 127, -128, kNone, 0}));
  ASSERT_TRUE(stated.ok()) << stated.status().message();
  std::string said;
  for (const Node& node : stated->nodes()) {
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kDense) continue;
    said += node.op.attributes.narrow_weights ? 'n' : '-';
  }
  EXPECT_EQ(said, "n-n----n");
  const auto tasks = ExtractTasks(*stated);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 2U);
  EXPECT_EQ((*tasks)[0].workload.Key(), "dense(uint8[1,8]MK,int8[8,8]NK,w64)->int32");
  EXPECT_EQ((*tasks)[1].workload.Key(), "dense(uint8[1,8]MK,int8[8,8]NK)->int32");
}

TEST(StateNarrowWeights, StaysWhenTheGraphIsOptimized) {
  auto stated = StateNarrowWeights(Layers({64, 1, -3}));
  ASSERT_TRUE(stated.ok()) << stated.status().message();
  auto optimized = Optimize(*std::move(stated));
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  int layers = 0;
  for (const Node& node : optimized->nodes()) {
    if (node.op.kind != OpKind::kDense) continue;
    EXPECT_TRUE(node.op.attributes.narrow_weights);
    ++layers;
  }
  EXPECT_EQ(layers, 3);
}

}  // namespace
}  // namespace tilewright
