// Values that do not depend on the inputs become constants, unless their type cannot represent
// them.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

/// A graph of float32 or integer values, built node by node.
class Net {
 public:
  explicit Net(DataType dtype, Ints shape = {2, 3})
      : dtype_(dtype), x(graph.AddInput("x", {std::move(shape), dtype})) {}
  int Constant(double value, Ints shape = {}) {
    Tensor contents(TensorType{std::move(shape), dtype_});
    for (std::int64_t i = 0; i < contents.elements(); ++i) contents.Set(i, value);
    return graph.AddConstant("c" + std::to_string(graph.size()), std::move(contents));
  }
  int Op(OpKind kind, std::vector<int> inputs, OpAttributes attributes = {}) {
    auto id = graph.AddOperator("v" + std::to_string(graph.size()),
                                Operator{kind, std::move(attributes)}, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return *id;
  }
  /// The graph with one output, after the passes that compiling runs.
  Graph Optimized(int output) {
    graph.SetOutputs({output});
    auto optimized = Optimize(std::move(graph));
    EXPECT_TRUE(optimized.ok()) << optimized.status().message();
    return *std::move(optimized);
  }

  Graph graph;

 private:
  DataType dtype_;

 public:
  int x;
};

int OperatorsIn(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.kind == NodeKind::kOperator ? 1 : 0;
  return count;
}

TEST(KnownValues, OfIntegersAreConstants) {
  struct Case {
    const char* name;
    std::function<int(Net&)> make;
    double value;
  };
  const Case cases[] = {
      {"times zero",
       [](Net& n) {
         return n.Op(OpKind::kMul, {n.x, n.Constant(0)});
       },
       0},
      {"minus itself",
       [](Net& n) {
         return n.Op(OpKind::kSub, {n.x, n.x});
       },
       0},
      // Folding uses constants that simplifying finds, and simplifying uses those that folding
      // finds.
      {"in rounds",
       [](Net& n) {
         const int zero = n.Op(OpKind::kMul, {n.x, n.Constant(0)});
         const int one = n.Op(OpKind::kAdd, {zero, n.Constant(1)});
         const int again = n.Op(OpKind::kSub, {one, n.Constant(1, {2, 3})});
         OpAttributes all;
         all.keepdims = true;
         all.axes = {0, 1};
         const int sum = n.Op(OpKind::kReduceSum, {again}, all);
         return n.Op(OpKind::kMul, {n.x, sum});
       },
       0},
  };
  for (const DataType dtype : {kInt64, kInt32, kUInt8}) {
    for (const Case& c : cases) {
      Net net(dtype);
      const Graph graph = net.Optimized(c.make(net));
      const Tensor* contents = graph.Contents(graph.outputs()[0]);
      ASSERT_NE(contents, nullptr) << c.name << " of " << DataTypeName(dtype);
      EXPECT_EQ(contents->shape(), (Ints{2, 3}));
      for (const double value : ValuesOf(*contents)) EXPECT_EQ(value, c.value) << c.name;
    }
  }
}

// NaN times zero is NaN, and x - x is NaN if x is infinite or NaN.
TEST(KnownValues, OfFloatsAreNot) {
  Net net(kFloat32);
  const int zero = net.Op(OpKind::kMul, {net.x, net.Constant(0)});
  const Graph graph = net.Optimized(net.Op(OpKind::kSub, {zero, zero}));
  EXPECT_EQ(OperatorsIn(graph), 2);
}

struct ScaleCase {
  const char* name;
  double weight, factor;
  bool folded;
};

TEST(FoldedScale, StaysBehindWhereTheWeightCannotTakeIt) {
  const double least = std::numeric_limits<float>::min();
  const ScaleCase cases[] = {{"Plain", 2, 3, true},
                             {"Zero", 2, 0, true},
                             {"Overflow", 1e24, 1e20, false},
                             {"JustFits", 1e18, 1e20, true},
                             {"Underflow", 1e-24, 1e-24, false},
                             {"DigitsLost", 1, 8 * least, false},
                             {"TinyBefore", least / 4, 2, true}};
  for (const ScaleCase& c : cases) {
    Net net(kFloat32, {2, 4});
    OpAttributes dense;
    dense.data_layout = "MK";
    dense.kernel_layout = "NK";
    const int product = net.Op(OpKind::kDense, {net.x, net.Constant(c.weight, {3, 4})}, dense);
    const Graph graph = net.Optimized(net.Op(OpKind::kMul, {product, net.Constant(c.factor)}));
    EXPECT_EQ(OperatorsIn(graph), c.folded ? 1 : 2) << c.name;
  }
}

TEST(WidenHalf, KeepsWhatAKernelMakesOnTheWayInFloat32) {
  Net net(kFloat16, {2, 16});
  const int large = net.Op(OpKind::kMul, {net.x, net.Constant(4096)});
  const int larger = net.Op(OpKind::kMul, {large, net.Constant(4096)});
  const int back = net.Op(OpKind::kDiv, {larger, net.Constant(8192)});
  net.graph.SetOutputs({back});
  auto groups = FuseGroups(net.graph);
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 1U);
  auto wide = WidenHalf(std::move(net.graph), *std::move(groups));
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  ASSERT_EQ(wide->groups.size(), 1U);
  EXPECT_EQ(wide->groups[0].output, wide->graph.outputs()[0]);
  EXPECT_EQ(wide->graph.node(wide->groups[0].output).type.dtype, kFloat16);
  EXPECT_EQ(DescribeGroup(wide->graph, wide->groups[0], "mul"), "mul + mul, div");
  Tensor input(TensorType{{2, 16}, kFloat16});
  for (std::int64_t i = 0; i < 32; ++i) input.Set(i, 0.25 * static_cast<double>(i));
  const auto outputs = EvaluateGraph(wide->graph, std::span(&input, 1));
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  for (std::int64_t i = 0; i < 32; ++i) EXPECT_EQ((*outputs)[0].At(i), 2048 * input.At(i));
}

// Values are rounded where the network has casts.
TEST(WidenHalf, RoundsWhereTheNetworkCasts) {
  Net net(kFloat32, {2, 16});
  OpAttributes half, single;
  half.dtype = kFloat16;
  single.dtype = kFloat32;
  const int narrow = net.Op(OpKind::kCast, {net.x}, half);
  const int twice = net.Op(OpKind::kAdd, {narrow, narrow});
  const int again = net.Op(OpKind::kCast, {twice}, single);
  net.graph.SetOutputs({again});
  auto groups = FuseGroups(net.graph);
  ASSERT_TRUE(groups.ok());
  auto wide = WidenHalf(std::move(net.graph), *std::move(groups));
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  Tensor input(TensorType{{2, 16}, kFloat32});
  for (std::int64_t i = 0; i < 32; ++i) input.Set(i, 1 + 0x1p-20);
  const auto outputs = EvaluateGraph(wide->graph, std::span(&input, 1));
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0].At(0), 2);
}

}  // namespace
}  // namespace tilewright
