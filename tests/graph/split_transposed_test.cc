// Transposed convolutions rewritten as 1x1 convolutions of their phases: values stay equal, and the
// data movement comes as late as possible.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

class PhaseGraph {
 public:
  int Input(std::vector<std::int64_t> shape) {
    return graph.AddInput("data", {std::move(shape), kFloat32});
  }
  int Constant(std::vector<std::int64_t> shape) {
    const std::string name = "c" + std::to_string(graph.size());
    const TensorType type{std::move(shape), kFloat32};
    return graph.AddConstant(name, MakeSyntheticInput(name, type, SyntheticInputRule::kRandom));
  }
  int Op(OpKind kind, std::vector<int> inputs, OpAttributes attributes = {}) {
    auto id = graph.AddOperator("v" + std::to_string(graph.size()),
                                Operator{kind, std::move(attributes)}, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : 0;
  }
  /// channels: of the result. The stride equals the kernel size.
  int Transposed(int data, std::int64_t channels, std::int64_t rows, std::int64_t columns) {
    OpAttributes attributes = Strided(rows, columns);
    const std::int64_t from = graph.node(data).type.shape[1];
    return Op(OpKind::kConv2dTranspose, {data, Constant({from, channels, rows, columns})},
              std::move(attributes));
  }
  static OpAttributes Strided(std::int64_t rows, std::int64_t columns) {
    OpAttributes attributes;
    attributes.data_layout = "NCHW";
    attributes.kernel_layout = "IOHW";
    attributes.strides = {rows, columns};
    attributes.dtype = kFloat32;
    return attributes;
  }
  Graph graph;
};

int Count(const Graph& graph, OpKind kind) {
  return static_cast<int>(std::ranges::count_if(graph.nodes(), [&](const Node& node) {
    return node.kind == NodeKind::kOperator && node.op.kind == kind;
  }));
}

Graph CopyOf(const Graph& graph) { return graph.CloneWithout(kMaxElements); }

// Expects values that have the same name in both graphs to be equal.
void ExpectSameValues(const Graph& graph, const Graph& split) {
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    inputs.push_back(MakeSyntheticInput("data", graph.node(id).type, SyntheticInputRule::kRandom));
  }
  const auto expected = EvaluateGraph(graph, inputs, KeepValues::kAll);
  const auto actual = EvaluateGraph(split, inputs, KeepValues::kAll);
  ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status().message();
  for (int id = 0; id < split.size(); ++id) {
    const Node& node = split.node(id);
    if (node.kind != NodeKind::kOperator || SourceName(node.name) != node.name) continue;
    const auto same = std::ranges::find(graph.nodes(), node.name, &Node::name);
    ASSERT_NE(same, graph.nodes().end()) << node.name;
    const Tensor& wanted = (*expected)[static_cast<std::size_t>(same - graph.nodes().begin())];
    const Tensor& seen = (*actual)[static_cast<std::size_t>(id)];
    ASSERT_EQ(seen.type(), wanted.type()) << node.name;
    for (std::int64_t i = 0; i < wanted.elements(); ++i) {
      ASSERT_NEAR(seen.At(i), wanted.At(i), 1e-4 * (1 + std::abs(wanted.At(i)))) << node.name;
    }
  }
}

Graph Split(const Graph& graph) {
  auto split = SplitTransposed(CopyOf(graph));
  EXPECT_TRUE(split.ok()) << split.status().message();
  return *std::move(split);
}

TEST(SplitTransposed, MovesBehindWhatWorksOnElementsAndFoldsScales) {
  PhaseGraph g;
  const int spread = g.Transposed(g.Input({2, 5, 3, 4}), 7, 2, 3);
  const int sum = g.Op(OpKind::kAdd, {spread, g.Constant({7, 1, 1})});
  const int scaled = g.Op(OpKind::kMul, {sum, g.Constant({1, 7, 1, 1})});
  const int silu = g.Op(OpKind::kMul, {scaled, g.Op(OpKind::kSigmoid, {scaled})});
  g.graph.SetOutputs({silu});
  const Graph split = Split(g.graph);
  EXPECT_EQ(Count(split, OpKind::kConv2dTranspose), 0);
  ExpectSameValues(g.graph, split);
  auto optimized = Optimize(CopyOf(split));
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  ExpectSameValues(g.graph, *optimized);
  EXPECT_EQ(Count(*optimized, OpKind::kTranspose), 1);
  EXPECT_EQ(Count(*optimized, OpKind::kMul), 1);  // the multiplication by the gate
  EXPECT_EQ(optimized->node(optimized->outputs()[0]).op.kind, OpKind::kReshape);
}

TEST(SplitTransposed, ASecondOneOfFewChannelsWorksOnThePhasesOfTheFirst) {
  for (const auto& [channels, moves] : {std::pair(2, 1), std::pair(4, 2)}) {
    PhaseGraph g;
    const int first = g.Op(OpKind::kRelu, {g.Transposed(g.Input({1, 6, 3, 2}), 3, 2, 1)});
    g.graph.SetOutputs({g.Op(OpKind::kTanh, {g.Transposed(first, channels, 1, 4)})});
    const Graph split = Split(g.graph);
    ExpectSameValues(g.graph, split);
    auto optimized = Optimize(CopyOf(split));
    ASSERT_TRUE(optimized.ok());
    EXPECT_EQ(Count(*optimized, OpKind::kTranspose), moves) << channels;
  }
}

TEST(SplitTransposed, WhatOthersReadIsThereAsItWas) {
  PhaseGraph g;
  const int data = g.Input({1, 4, 3, 3});
  const int spread = g.Transposed(data, 4, 2, 2);
  const int sum =
      g.Op(OpKind::kAdd, {spread, g.Constant({1, 1, 6, 6})});  // one addend for each pixel
  const int joined = g.Op(OpKind::kMax, {sum, g.Op(OpKind::kRelu, {spread})});
  g.graph.SetOutputs({joined, spread});
  const Graph split = Split(g.graph);
  EXPECT_EQ(Count(split, OpKind::kConv2dTranspose), 0);
  ExpectSameValues(g.graph, split);
}

TEST(SplitTransposed, LeavesOthersAlone) {
  const auto stays = [](const std::function<void(OpAttributes&)>& change, std::int64_t rows = 2) {
    PhaseGraph g;
    OpAttributes attributes = PhaseGraph::Strided(2, 2);
    change(attributes);
    const std::int64_t groups = attributes.groups;
    const int weight = g.Constant({4, 6 / groups, rows, 2});
    const int data = g.Input({1, 4, 3, 3});
    g.graph.SetOutputs({g.Op(OpKind::kConv2dTranspose, {data, weight}, attributes)});
    return Count(Split(g.graph), OpKind::kConv2dTranspose) == 1;
  };
  EXPECT_FALSE(stays([](OpAttributes&) {}));
  EXPECT_TRUE(stays([](OpAttributes&) {}, 3));
  EXPECT_TRUE(stays([](OpAttributes& a) { a.padding = {0, 1, 0, 0}; }));
  EXPECT_TRUE(stays([](OpAttributes& a) { a.output_padding = {0, 1}; }));
  EXPECT_TRUE(stays([](OpAttributes& a) { a.dilation = {2, 1}; }));
  EXPECT_TRUE(stays([](OpAttributes& a) { a.strides = {1, 2}; }));
}

TEST(SplitTransposed, TasksAreThoseOfTheConvolution) {
  PhaseGraph g;
  const int spread = g.Transposed(g.Input({1, 24, 8, 8}), 24, 2, 2);
  g.graph.SetOutputs({g.Op(OpKind::kRelu, {spread})});
  const auto tasks = ExtractTasks(Split(g.graph));
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 1U);
  EXPECT_EQ(tasks->front().workload.Key(),
            "conv2d(float32[1,24,8,8]NCHW,float32[96,24,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32");
  EXPECT_EQ(tasks->front().epilogue.ToString(), "relu");
  EXPECT_EQ(tasks->front().sites.front(), g.graph.node(spread).name);
}

}  // namespace
}  // namespace tilewright
