#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/partition.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

int Add(Graph& graph, OpKind kind, std::vector<int> inputs, OpAttributes attributes) {
  auto id = graph.AddOperator("v" + std::to_string(graph.size()),
                              Operator{kind, std::move(attributes)}, std::move(inputs));
  EXPECT_TRUE(id.ok()) << id.status().message();
  return id.ok() ? *id : 0;
}

int Turned(Graph& graph, int value) {
  OpAttributes attributes;
  attributes.axes = {0, 2, 1};
  return Add(graph, OpKind::kTranspose, {value}, std::move(attributes));
}

int Product(Graph& graph, int a, int b) {
  OpAttributes attributes;
  attributes.data_layout = "BMK";
  attributes.kernel_layout = "BNK";
  if (!graph.node(a).type.dtype.is_float()) attributes.dtype = kInt32;
  return Add(graph, OpKind::kBatchMatmul, {a, b}, std::move(attributes));
}

/// Product of [2, rows, 5] and [2, 5, 7], which is transposed for it.
Graph ProductOfColumns(std::int64_t rows, DataType a, DataType b) {
  Graph graph;
  const int left = graph.AddInput("a", {Shape{2, rows, 5}, a});
  const int right = graph.AddInput("b", {Shape{2, 5, 7}, b});
  graph.SetOutputs({Product(graph, left, Turned(graph, right))});
  return graph;
}

std::string KeyOf(Graph graph, const char* target) {
  auto network = Partition(std::move(graph), *Target::Parse(target), false);
  EXPECT_TRUE(network.ok()) << network.status().message();
  if (!network.ok() || network->sites.empty()) return "";
  return network->sites[0].workload->Key();
}

TEST(ReadColumnsTest, ProductReadsTheColumnsItself) {
  auto network = Partition(ProductOfColumns(3, kFloat32, kFloat32),
                           *Target::Parse("llvm -mcpu=znver4"), false);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->groups.size(), 1U);  // no transposition
  EXPECT_EQ(network->sites[0].workload->Key(),
            "batch_matmul(float32[2,3,5]BMK,float32[2,5,7]BKN)->float32");
}

TEST(ReadColumnsTest, ValuesStayEqual) {
  const Graph graph = ProductOfColumns(3, kFloat32, kFloat32);
  auto network = Partition(graph.CloneWithout(0), *Target::Parse("llvm -mcpu=znver4"), false);
  ASSERT_TRUE(network.ok()) << network.status().message();
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    const Node& node = graph.node(id);
    inputs.push_back(MakeSyntheticInput(node.name, node.type, SyntheticInputRule::kRandom));
  }
  auto before = EvaluateGraph(graph, inputs), after = EvaluateGraph(network->graph, inputs);
  ASSERT_TRUE(before.ok() && after.ok());
  for (std::int64_t i = 0; i < (*before)[0].elements(); ++i) {
    EXPECT_EQ((*before)[0].At(i), (*after)[0].At(i));
  }
}

TEST(ReadColumnsTest, BytesAndGridsKeepRows) {
  EXPECT_NE(KeyOf(ProductOfColumns(9, kUInt8, kInt8), "llvm -mcpu=znver4").find("BNK"),
            std::string::npos);
  EXPECT_NE(KeyOf(ProductOfColumns(9, kFloat32, kFloat32), "cuda -arch=sm_80").find("BNK"),
            std::string::npos);
}

/// Rows of queries, a softmax of the scores, and the values as columns.
Graph Attention(std::int64_t rows) {
  Graph graph;
  const int queries = graph.AddInput("q", {Shape{2, rows, 16}, kFloat32});
  const int keys = graph.AddInput("k", {Shape{2, 24, 16}, kFloat32});
  const int values = graph.AddInput("v", {Shape{2, 24, 16}, kFloat32});
  OpAttributes last;
  last.axis = 2;
  const int shares = Add(graph, OpKind::kSoftmax, {Product(graph, queries, keys)}, std::move(last));
  graph.SetOutputs({Product(graph, shares, Turned(graph, values))});
  return graph;
}

TEST(ReadColumnsTest, AttentionKeepsItsTranspositions) {
  for (const std::int64_t rows : {8, 7}) {
    auto network = Partition(Attention(rows), *Target::Parse("llvm -mcpu=znver4"), false);
    ASSERT_TRUE(network.ok()) << network.status().message();
    ASSERT_EQ(network->sites.size(), 2U);
    EXPECT_EQ(network->sites[1].workload->kernel_layout, rows < 8 ? "BKN" : "BNK") << rows;
  }
}

}  // namespace
}  // namespace tilewright
