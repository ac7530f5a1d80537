// Transposed convolutions rewritten as convolutions of their phases: values stay equal, and the
// data movement comes as late as possible.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/partition.h"
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
    auto id = graph.AddOperator(prefix + std::to_string(graph.size()),
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
  std::string prefix = "v";  // of the names of operators
};

int Count(const Graph& graph, OpKind kind) {
  return static_cast<int>(std::ranges::count_if(graph.nodes(), [&](const Node& node) {
    return node.kind == NodeKind::kOperator && node.op.kind == kind;
  }));
}

// Expects no two operators of the same name.
void ExpectUniqueNames(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes()) EXPECT_TRUE(names.insert(node.name).second) << node.name;
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
  ExpectUniqueNames(*split);
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

TEST(SplitTransposed, ASecondOneInGroupsIsSplitByItself) {
  PhaseGraph g;
  const int first = g.Transposed(g.Input({1, 6, 3, 2}), 4, 2, 1);
  OpAttributes attributes = PhaseGraph::Strided(1, 1);
  attributes.groups = 2;
  g.graph.SetOutputs(
      {g.Op(OpKind::kConv2dTranspose, {first, g.Constant({4, 2, 1, 1})}, attributes)});
  ExpectSameValues(g.graph, Split(g.graph));
}

// Padding and output padding can leave a result that no window reaches.
TEST(SplitTransposed, AResultOutsideOfAllWindowsStays) {
  PhaseGraph g;
  OpAttributes attributes = PhaseGraph::Strided(2, 1);
  attributes.padding = {2, 0, 0, 0};
  attributes.output_padding = {1, 0};
  g.graph.SetOutputs({g.Op(OpKind::kConv2dTranspose,
                           {g.Input({1, 3, 1, 4}), g.Constant({3, 2, 2, 1})}, attributes)});
  const Graph split = Split(g.graph);
  EXPECT_EQ(Count(split, OpKind::kConv2dTranspose), 1);
  ExpectSameValues(g.graph, split);
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

struct Geometry {
  const char* name;
  std::vector<std::int64_t> data, weight;  // NCHW, IOHW
  std::array<std::int64_t, 2> strides;
  std::array<std::int64_t, 4> padding = {};
  std::array<std::int64_t, 2> output_padding = {};
  std::array<std::int64_t, 2> dilation = {1, 1};
  std::int64_t groups = 1;
  int convolutions = 1;
};

const Geometry kGeometries[] = {
    {"whole windows", {2, 3, 4, 5}, {3, 2, 2, 3}, {2, 3}},
    {"overlapping windows", {1, 3, 4, 5}, {3, 2, 4, 4}, {2, 2}, {1, 1, 1, 1}, {}, {1, 1}, 1, 1},
    {"sequence", {2, 3, 1, 9}, {3, 2, 1, 16}, {1, 8}, {0, 4, 0, 4}},
    {"kernel no multiple of the stride", {1, 3, 1, 9}, {3, 2, 1, 11}, {1, 5}, {0, 3, 0, 3}},
    {"output padding", {2, 3, 4, 5}, {3, 2, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
    {"asymmetric padding", {1, 3, 4, 5}, {3, 2, 5, 4}, {3, 2}, {2, 0, 1, 3}, {0, 1}},
    {"unused data", {1, 3, 6, 6}, {3, 2, 2, 3}, {2, 3}, {2, 4, 3, 5}},
    {"kernel below the stride", {1, 3, 4, 5}, {3, 2, 2, 1}, {3, 4}, {0, 0, 1, 0}},
    {"no stride", {1, 3, 6, 7}, {3, 2, 3, 2}, {1, 1}, {1, 0, 1, 2}, {}, {2, 3}},
    {"dilated rows", {1, 3, 6, 7}, {3, 2, 3, 4}, {1, 2}, {1, 1, 1, 1}, {}, {2, 1}},
    {"strided and dilated", {1, 3, 5, 6}, {3, 2, 3, 2}, {2, 3}, {1, 0, 2, 1}, {1, 0}, {2, 4}},
    {"groups", {2, 6, 4, 5}, {6, 2, 4, 3}, {2, 2}, {1, 1, 1, 1}, {0, 1}, {1, 1}, 3, 4},
    {"a channel in each group", {1, 4, 1, 5}, {4, 1, 1, 4}, {1, 2}, {0, 1, 0, 1}, {}, {1, 1}, 4, 2},
};

TEST(SplitTransposed, SplitsEveryGeometry) {
  for (const Geometry& geometry : kGeometries) {
    SCOPED_TRACE(geometry.name);
    PhaseGraph g;
    OpAttributes attributes = PhaseGraph::Strided(geometry.strides[0], geometry.strides[1]);
    attributes.padding = geometry.padding;
    attributes.output_padding = geometry.output_padding;
    attributes.dilation = geometry.dilation;
    attributes.groups = geometry.groups;
    const int product = g.Op(OpKind::kConv2dTranspose,
                             {g.Input(geometry.data), g.Constant(geometry.weight)}, attributes);
    const std::int64_t channels = g.graph.node(product).type.shape[1];
    const int sum = g.Op(OpKind::kAdd, {product, g.Constant({channels, 1, 1})});
    g.graph.SetOutputs({g.Op(OpKind::kRelu, {sum})});
    const Graph split = Split(g.graph);
    EXPECT_EQ(Count(split, OpKind::kConv2dTranspose), 0);
    EXPECT_EQ(Count(split, OpKind::kConv2d), geometry.convolutions);
    ExpectSameValues(g.graph, split);
  }
}

// The importers' form of a sequence: the convolution's result is reshaped before operators that
// follow.
TEST(SplitTransposed, OperatorsOnSequencesWorkOnThePhases) {
  PhaseGraph g;
  const auto reshape = [&](int value, std::vector<std::int64_t> shape) {
    OpAttributes attributes;
    attributes.new_shape = std::move(shape);
    return g.Op(OpKind::kReshape, {value}, std::move(attributes));
  };
  const auto transposed = [&](int data, std::int64_t channels) {
    OpAttributes attributes = PhaseGraph::Strided(1, 3);
    attributes.padding = {0, 1, 0, 1};
    const std::int64_t from = g.graph.node(data).type.shape[1];
    return g.Op(OpKind::kConv2dTranspose, {data, g.Constant({from, channels, 1, 5})}, attributes);
  };
  const int first = reshape(transposed(g.Input({2, 4, 1, 7}), 3), {2, 3, 21});
  const int sum = g.Op(OpKind::kAdd, {first, g.Constant({3, 1})});
  const int gated = g.Op(OpKind::kMul, {sum, g.Op(OpKind::kSigmoid, {sum})});
  const int second = transposed(reshape(gated, {2, 3, 1, 21}), 2);
  g.graph.SetOutputs({g.Op(OpKind::kRelu, {reshape(second, {2, 2, 63})})});
  const Graph split = Split(g.graph);
  EXPECT_EQ(Count(split, OpKind::kConv2dTranspose), 0);
  ExpectSameValues(g.graph, split);
  auto partitioned = Partition(CopyOf(g.graph), PartitionRule());
  ASSERT_TRUE(partitioned.ok()) << partitioned.status().message();
  for (const PartitionSite& site : partitioned->sites) {
    EXPECT_FALSE(site.epilogue.steps.empty()) << site.value;
  }
}

// Importers name the values of one node "y#0", "y#1", ….
TEST(SplitTransposed, ValuesOfOneSourceHaveTheirOwnNames) {
  PhaseGraph g;
  g.prefix = "y#";
  OpAttributes attributes = PhaseGraph::Strided(2, 2);
  attributes.padding = {1, 1, 1, 1};
  int value = g.Op(OpKind::kConv2dTranspose, {g.Input({1, 16, 40, 40}), g.Constant({16, 16, 3, 3})},
                   attributes);
  for (int i = 0; i < 2; ++i) value = g.Op(OpKind::kAdd, {value, g.Constant({16, 1, 1})});
  g.graph.SetOutputs({g.Op(OpKind::kRelu, {value})});
  EXPECT_EQ(Count(Split(g.graph), OpKind::kConv2d), 4);
}

TEST(SplitTransposed, PhasesOfManyPixelsHaveConvolutionsWithoutZeros) {
  PhaseGraph g;
  OpAttributes attributes = PhaseGraph::Strided(2, 2);
  attributes.padding = {1, 1, 1, 1};
  attributes.output_padding = {1, 1};
  const int product = g.Op(OpKind::kConv2dTranspose,
                           {g.Input({1, 16, 40, 40}), g.Constant({16, 16, 3, 3})}, attributes);
  g.graph.SetOutputs({g.Op(OpKind::kTanh, {product})});
  const Graph split = Split(g.graph);
  std::int64_t products = 0;
  for (const Node& node : split.nodes()) {
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kConv2d) continue;
    products += node.type.elements() * split.node(node.inputs[1]).type.elements() / 16;
  }
  EXPECT_EQ(products, 40 * 40 * 9 * 16 * 16);
  auto optimized = Optimize(CopyOf(split));
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  EXPECT_EQ(Count(*optimized, OpKind::kTanh), 4);  // each follows its convolution
  EXPECT_EQ(Count(*optimized, OpKind::kTranspose), 1);
}

// The importers' integers minus a zero point: uint8 by way of int16, and with zero point 128 in
// int8.
TEST(SplitTransposed, IntegersAreReadWithTheirZeroPoint) {
  for (const std::int64_t zero_point : {0, 37, 128}) {
    PhaseGraph g;
    const int data = g.graph.AddInput("data", {{1, 3, 4, 5}, kUInt8});
    OpAttributes wide, attributes = PhaseGraph::Strided(2, 2);
    wide.dtype = kInt16;
    int value = g.Op(OpKind::kCast, {data}, wide);
    if (zero_point != 0) {
      Tensor zero(TensorType{{}, kInt16});
      zero.Set(0, static_cast<double>(zero_point));
      value = g.Op(OpKind::kSub, {value, g.graph.AddConstant("zero", std::move(zero))});
    }
    if (zero_point == 128) {
      wide.dtype = kInt8;
      value = g.Op(OpKind::kCast, {value}, wide);
    }
    attributes.padding = {1, 1, 1, 1};
    attributes.dtype = kInt32;
    Tensor reduced(TensorType{{3, 2, 3, 3}, kInt8});
    for (std::int64_t i = 0; i < reduced.elements(); ++i) {
      reduced.Set(i, static_cast<double>(i * 37 % 128 - 64));
    }
    const int weight = g.graph.AddConstant("weight", std::move(reduced));
    g.graph.SetOutputs(
        {g.Op(OpKind::kRelu, {g.Op(OpKind::kConv2dTranspose, {value, weight}, attributes)})});
    const Graph split = Split(g.graph);
    for (const Node& node : split.nodes()) {
      if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kConv2d) continue;
      EXPECT_EQ(split.node(node.inputs[0]).type.dtype, kUInt8);
    }
    ExpectSameValues(g.graph, split);
    const auto stated = SetReducedRangeWeights(CopyOf(split));
    ASSERT_TRUE(stated.ok()) << stated.status().message();
    for (const Node& node : stated->nodes()) {
      EXPECT_EQ(node.op.attributes.reduced_range_weights, node.op.kind == OpKind::kConv2d);
    }
  }
}

TEST(SplitTransposed, LeavesOtherLayoutsAlone) {
  for (const bool plain : {true, false}) {
    PhaseGraph g;
    OpAttributes attributes = PhaseGraph::Strided(2, 2);
    if (!plain) attributes.kernel_layout = "OIHW";
    const int weight = g.Constant({4, 4, 2, 2});
    g.graph.SetOutputs(
        {g.Op(OpKind::kConv2dTranspose, {g.Input({1, 4, 3, 3}), weight}, attributes)});
    EXPECT_EQ(Count(Split(g.graph), OpKind::kConv2dTranspose), plain ? 0 : 1);
  }
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
