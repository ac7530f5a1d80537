// Networks of 8-bit weights for CPUs that sum pairs of products in 16 bits: kernels do so only for
// layers with reduced-range weights.

#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/partition.h"
#include "src/target/cpu.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

/// Two convolutions; the second one has one weight outside of the reduced range.
Graph TwoLayers() {
  Graph graph;
  int data = graph.AddInput("data", {{1, 16, 6, 6}, kUInt8});
  const auto add = [&](const std::string& name, OpKind kind, OpAttributes attributes,
                       std::vector<int> inputs) {
    auto id = graph.AddOperator(name, {kind, std::move(attributes)}, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return *id;
  };
  for (const int largest : {64, 65}) {
    const std::string layer = std::to_string(largest);
    Tensor weight(TensorType{{16, 16, 1, 1}, kInt8});
    for (std::int64_t i = 0; i < weight.elements(); ++i) weight.Set(i, i % 32 < 16 ? 64 : -64);
    weight.Set(0, largest);
    const int constant = graph.AddConstant("weight" + layer, std::move(weight));
    OpAttributes sums, bytes;
    sums.dtype = kInt32;
    bytes.dtype = kUInt8;
    const int conv = add("sums" + layer, OpKind::kConv2d, sums, {data, constant});
    data = add("bytes" + layer, OpKind::kSaturateCast, bytes, {conv});
  }
  graph.SetOutputs({data, data - 1});
  return graph;
}

std::string Narrow(const char* target) {
  auto graph = UnfusedOperators(TwoLayers(), PartitionRuleFor(*Target::Parse(target), true));
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  std::string narrow;
  for (const Node& node : graph->nodes()) {
    if (node.op.kind != OpKind::kConv2d) continue;
    narrow += node.op.attributes.reduced_range_weights ? 'n' : '-';
  }
  return narrow;
}

TEST(NarrowLayers, AreToldApartWhereThatPays) {
  EXPECT_EQ(Narrow("llvm -mcpu=haswell"), "n-");
  EXPECT_EQ(Narrow("llvm -mcpu=skylake-avx512"), "n-");
  EXPECT_EQ(Narrow("llvm -mcpu=cascadelake"), "--");
  EXPECT_EQ(Narrow("llvm -mcpu=x86-64"), "--");
}

TEST(NarrowLayers, AreExactInALibrary) {
  if (!FeaturesOf(*Target::Parse("native"))->avx2) GTEST_SKIP() << "this CPU has no AVX2";
  Graph graph = TwoLayers();
  Tensor data(graph.node(0).type);
  for (std::int64_t i = 0; i < data.elements(); ++i) data.Set(i, i % 7 == 3 ? 1 : 255);
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(data));
  const auto expected = EvaluateGraph(graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("llvm -mcpu=haswell");
  options.device = ProbeHostCpu();
  const auto folder = ScopedTempDir::Create("tilewright-narrow-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/model.so";
  const auto compiled = Compile(std::move(graph), options, path);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_TRUE(compiled->check.ran) << compiled->check.not_run;
  auto model = ModelLibrary::Open(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto outputs = model->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), expected->size());
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    for (std::int64_t j = 0; j < (*outputs)[i].elements(); ++j) {
      ASSERT_EQ((*outputs)[i].At(j), (*expected)[i].At(j)) << "output " << i << ", element " << j;
    }
  }
}

}  // namespace
}  // namespace tilewright
