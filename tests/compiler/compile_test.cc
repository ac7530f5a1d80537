// Small graphs, compiled, run, and compared with the reference evaluator.

#include "src/compiler/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/compiler/sample_networks.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

struct Case {
  Network network;
  const char* target;
};

class Compiled : public testing::TestWithParam<std::tuple<Network, const char*>> {
 protected:
  void SetUp() override {
    auto target = Target::Parse(std::get<1>(GetParam()));
    ASSERT_TRUE(target.ok());
    options_.templates = &BuiltInTemplates();
    options_.target = *target;
    options_.device = ProbeHostCpu();
    auto features = FeaturesOf(*target);
    auto here = FeaturesOf(*Target::Parse("native"));
    if (features->avx2 && !here->avx2) GTEST_SKIP() << "this CPU has no AVX2";
    auto folder = ScopedTempDir::Create("tilewright-compile-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }

  static Graph Load(const char* text) {
    auto graph = ImportRelay(text, "small");
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    SeedConstants(*graph, SeedRule::kMissing);
    return *std::move(graph);
  }

  static std::vector<Tensor> Inputs(const Graph& graph) {
    std::vector<Tensor> inputs;
    for (int id : graph.inputs()) {
      inputs.push_back(MakeSyntheticInput(graph.node(id).name, graph.node(id).type,
                                          SyntheticInputRule::kSeededQuantized));
    }
    return inputs;
  }

  CompileOptions options_;
  std::optional<ScopedTempDir> folder_;
};

TEST_P(Compiled, GivesWhatTheReferenceGives) {
  const char* text = std::get<0>(GetParam()).text;
  Graph graph = Load(text);
  const std::vector<Tensor> inputs = Inputs(graph);
  auto expected = EvaluateGraph(graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const std::string path = folder_->path() + "/model.so";
  auto compiled = Compile(std::move(graph), options_, path);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_TRUE(compiled->check.ran) << compiled->check.not_run;
  EXPECT_THAT(compiled->check.not_compared, testing::IsEmpty());
  EXPECT_THAT(compiled->check.not_proved, testing::IsEmpty());
  auto model = ModelLibrary::Open(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (int threads : {1, 2}) {
    ASSERT_TRUE(model->SetThreads(threads).ok());
    auto outputs = model->Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    ASSERT_EQ(outputs->size(), expected->size());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const Comparison comparison = Compare((*outputs)[i], (*expected)[i]);
      EXPECT_TRUE(comparison.ok) << "output " << i << " element " << comparison.first_bad
                                 << " error " << comparison.max_abs_error;
    }
  }
  auto report = Verify(*PartitionLike(Load(text), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
  EXPECT_EQ(report->checks.size(), compiled->operators.size());
}

INSTANTIATE_TEST_SUITE_P(Networks, Compiled,
                         testing::Combine(testing::ValuesIn(kNetworks),
                                          testing::Values("native", "llvm -mcpu=core-avx2")),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param).name) +
                                  (std::string(std::get<1>(tested.param)) == "native" ? "Native"
                                                                                      : "Avx2");
                         });

TEST(CompiledTables, AKernelWithTooManyTensorsIsRefusedByName) {
  std::string parameters, values;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "%x" + std::to_string(i);
    parameters += (i == 0 ? "" : ", ") + name + ": Tensor[(1, 4), float32]";
    values += (i == 0 ? "" : ", ") + name;
  }
  auto graph = ImportRelay(
      "def @main(" + parameters + ") {\n  concatenate((" + values + "), axis=1)\n}", "wide");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto folder = ScopedTempDir::Create("tilewright-compile-test");
  ASSERT_TRUE(folder.ok());
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("llvm");
  const auto copy = [&] { return graph->CloneWithout(1 << 20); };
  auto compiled = Compile(copy(), options, folder->path() + "/wide.so");
  EXPECT_EQ(compiled.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(compiled.status().message(),
              HasSubstr("value %result (concat): a kernel with 301 tensors"));
  // CheckCompiles returns the same error, with the node of the file if there is one.
  EXPECT_EQ(CheckCompiles(copy(), options), compiled.status());
  graph->origins.emplace("%result", "node 7 'all' (Concat)");
  EXPECT_THAT(CheckCompiles(copy(), options).message(),
              HasSubstr("node 7 'all' (Concat) (concat): a kernel with 301 tensors"));
}

TEST(CompiledTables, WhatCompilesIsTaken) {
  auto graph = ImportRelay("def @main(%x: Tensor[(1, 4), float32]) {\n  nn.relu(%x)\n}", "small");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("llvm");
  EXPECT_TRUE(CheckCompiles(*std::move(graph), options).ok());
}

}  // namespace
}  // namespace tilewright
