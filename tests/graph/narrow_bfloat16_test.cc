// Networks in bfloat16: which values are stored in it, and that results stay near those of float32.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/partition.h"
#include "src/graph/partition/tasks.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

/// Two convolutions with a residual, a pool, a view and a matrix product; `depthwise`: a depthwise
/// convolution reads the residual, too.
Graph SmallNetwork(bool depthwise) {
  Graph graph;
  const auto op = [&](const char* name, OpKind kind, std::vector<int> inputs,
                      OpAttributes attributes = {}) {
    auto id = graph.AddOperator(name, Operator{kind, std::move(attributes)}, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : 0;
  };
  const auto constant = [&](const char* name, std::vector<std::int64_t> shape) {
    const TensorType type{std::move(shape), kFloat32};
    return graph.AddConstant(name, MakeSyntheticInput(name, type, SyntheticInputRule::kRandom));
  };
  const auto windows = [](std::int64_t groups) {
    OpAttributes attributes;
    attributes.data_layout = "NCHW";
    attributes.kernel_layout = "OIHW";
    attributes.padding = {1, 1, 1, 1};
    attributes.groups = groups;
    return attributes;
  };
  const int data = graph.AddInput("data", {{1, 3, 8, 8}, kFloat32});
  int first = op("conv0", OpKind::kConv2d, {data, constant("w0", {16, 3, 3, 3})}, windows(1));
  first = op("relu0", OpKind::kRelu, {first});
  int second = op("conv1", OpKind::kConv2d, {first, constant("w1", {16, 16, 3, 3})}, windows(1));
  second = op("sum", OpKind::kAdd, {second, first});
  if (depthwise) {
    const int thin =
        op("thin", OpKind::kConv2d, {first, constant("w2", {16, 1, 3, 3})}, windows(16));
    second = op("both", OpKind::kAdd, {second, thin});
  }
  OpAttributes pool;
  pool.data_layout = "NCHW";
  pool.pool_size = {8, 8};
  pool.strides = {8, 8};
  const int pooled = op("pool", OpKind::kAvgPool2d, {second}, pool);
  OpAttributes flat;
  flat.new_shape = {1, 16};
  const int view = op("view", OpKind::kReshape, {pooled}, flat);
  graph.SetOutputs({op("dense", OpKind::kDense, {view, constant("w3", {24, 16})})});
  return graph;
}

/// Returns the element type in which the value of this name is stored: that of its group's result.
DataType StoredType(const PartitionedGraph& network, std::string_view name) {
  for (const FusedGroup& group : network.groups) {
    if (SourceName(network.graph.node(group.output).name) == name) {
      return network.graph.node(group.output).type.dtype;
    }
  }
  ADD_FAILURE() << "no group computes " << name;
  return kBool;
}

Result<PartitionedGraph> Narrow(bool depthwise) {
  Graph graph = SmallNetwork(depthwise);
  graph.precision = Precision::kAsBFloat16;
  return Partition(std::move(graph), *Target::Parse("llvm -mcpu=znver4"), false);
}

TEST(NarrowToBFloat16, StoresWhatOnlyProductsAndOthersOfFloatsRead) {
  const auto network = Narrow(/*depthwise=*/false);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(StoredType(*network, "relu0"), kBFloat16);
  EXPECT_EQ(StoredType(*network, "sum"), kBFloat16);
  EXPECT_EQ(StoredType(*network, "view"), kBFloat16);
  EXPECT_EQ(StoredType(*network, "dense"), kFloat32);  // the output
  const auto tasks = ExtractTasks(*network);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 3U);
  // Three channels are too few.
  EXPECT_EQ((*tasks)[0].workload.data.dtype, kFloat32);
  EXPECT_EQ((*tasks)[0].epilogue.ToString(), "relu;cast(bfloat16)");
  EXPECT_EQ(
      (*tasks)[1].workload.Key(),
      "conv2d(bfloat16[1,16,8,8]NCHW,bfloat16[16,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  EXPECT_EQ((*tasks)[1].epilogue.ToString(), "add(tensor:bfloat16);cast(bfloat16)");
  EXPECT_EQ((*tasks)[2].workload.Key(), "dense(bfloat16[1,16]MK,bfloat16[24,16]NK)->float32");
}

TEST(NarrowToBFloat16, NarrowsProductsThatReadColumns) {
  Graph graph;
  const int a = graph.AddInput("a", {{2, 16, 32}, kFloat32});
  const int b = graph.AddInput("b", {{2, 32, 48}, kFloat32});
  Operator turn{OpKind::kTranspose, {}}, product{OpKind::kBatchMatmul, {}};
  turn.attributes.axes = {0, 2, 1};
  product.attributes.data_layout = "BMK";
  product.attributes.kernel_layout = "BNK";
  graph.SetOutputs({*graph.AddOperator("y", product, {a, *graph.AddOperator("t", turn, {b})})});
  graph.precision = Precision::kAsBFloat16;
  const auto network = Partition(std::move(graph), *Target::Parse("llvm -mcpu=znver4"), false);
  ASSERT_TRUE(network.ok()) << network.status().message();
  ASSERT_EQ(network->sites.size(), 1U);
  EXPECT_EQ(network->sites[0].workload->Key(),
            "batch_matmul(bfloat16[2,16,32]BMK,bfloat16[2,32,48]BKN)->float32");
}

TEST(NarrowToBFloat16, KeepsWhatADepthwiseConvolutionReads) {
  const auto network = Narrow(/*depthwise=*/true);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(StoredType(*network, "relu0"), kFloat32);
}

TEST(NarrowToBFloat16, ChangesResultsByLittle) {
  for (const bool depthwise : {false, true}) {
    const auto network = Narrow(depthwise);
    ASSERT_TRUE(network.ok()) << network.status().message();
    const Graph plain = SmallNetwork(depthwise);
    const TensorType type = plain.node(plain.inputs()[0]).type;
    std::vector<Tensor> inputs, again;
    inputs.push_back(MakeSyntheticInput("data", type, SyntheticInputRule::kRandom));
    again.push_back(inputs[0].Clone());
    const auto expected = EvaluateGraph(plain, inputs, KeepValues::kAll);
    const auto actual = EvaluateGraph(network->graph, again, KeepValues::kAll);
    ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status().message();
    const Tensor& wanted = expected->at(static_cast<std::size_t>(plain.outputs()[0]));
    const Tensor& seen = actual->at(static_cast<std::size_t>(network->graph.outputs()[0]));
    ASSERT_EQ(seen.type(), wanted.type());
    double error = 0, signal = 0;
    for (std::int64_t i = 0; i < wanted.elements(); ++i) {
      error += std::pow(seen.At(i) - wanted.At(i), 2);
      signal += std::pow(wanted.At(i), 2);
    }
    EXPECT_GT(error, 0);
    EXPECT_LT(error, 1e-4 * signal);
  }
}

TEST(NarrowToBFloat16, KeepsProductsThatAreNamed) {
  Graph graph = SmallNetwork(false);
  graph.precision = Precision::kAsBFloat16;
  graph.float32_products = {"dense"};
  const auto network = Partition(std::move(graph), *Target::Parse("llvm -mcpu=znver4"), false);
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto tasks = ExtractTasks(*network);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 3U);
  EXPECT_EQ((*tasks)[1].workload.data.dtype, kBFloat16);
  EXPECT_EQ((*tasks)[2].workload.data.dtype, kFloat32);
  EXPECT_EQ(StoredType(*network, "view"), kFloat32);
}

TEST(NarrowToBFloat16, IsForCpusOnly) {
  Graph graph = SmallNetwork(false);
  graph.precision = Precision::kAsBFloat16;
  const auto network = Partition(std::move(graph), *Target::Parse("cuda -arch=sm_80"), false);
  EXPECT_EQ(network.status(),
            Unsupported("precision bfloat16: only for CPUs, which have kernels for it"));
}

}  // namespace
}  // namespace tilewright
