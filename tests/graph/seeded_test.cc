// Whole networks with seeded weights compared with numbers that an independent program computed in
// double precision. The larger networks can take minutes on a slow machine.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/graph/shared_data.h"

namespace tilewright {
namespace {

constexpr int kSeededThreads = 2;

// Error bound of single numbers, relative to the root mean square of their value.
constexpr double kTolerance = 1e-4;

class GraphSeeded : public testing::TestWithParam<const char*> {
 protected:
  // Reads the network with its seeded weights; skips the test if it is absent.
  void SetUp() override {
    const std::string path = SharedData(std::string("onnx/") + GetParam() + ".onnx");
    const std::string numbers = SharedData(std::string("expected/seeded_") + GetParam() + ".json");
    TW_NEEDS_FILE(path);
    TW_NEEDS_FILE(numbers);
    auto graph = LoadGraph(path);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    graph_ = *std::move(graph);
    SeedConstants(graph_, SeedRule::kAllFloat);
    expected_ = *ParseJson(*ReadFile(numbers));
  }

  Tensor Input() const {
    const Node& input = graph_.node(graph_.inputs()[0]);
    EXPECT_EQ(input.name, expected_["input"].get<std::string>());
    return MakeSyntheticInput(input.name, input.type, SyntheticInputRule::kRamp);
  }

  // Returns the input of the last softmax, or the output if there is no softmax.
  int Logits() const {
    const Node& last = graph_.node(graph_.outputs()[0]);
    return last.op.kind == OpKind::kSoftmax ? last.inputs[0] : graph_.outputs()[0];
  }

  void ExpectLogits(const Tensor& logits) const {
    const auto expected = expected_["logits"].get<std::vector<double>>();
    ASSERT_EQ(static_cast<std::size_t>(logits.elements()), expected.size());
    double square = 0;
    for (double value : expected) square += value * value;
    const double rms = std::sqrt(square / static_cast<double>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(logits.At(static_cast<std::int64_t>(i)), expected[i], kTolerance * rms) << i;
    }
  }

  Graph graph_;
  Json expected_;
};

void ExpectRow(const Tensor& value, const Json& row) {
  SCOPED_TRACE(row[0].get<std::string>());
  ASSERT_EQ(value.shape(), row[2].get<std::vector<std::int64_t>>());
  const double rms = row[4];
  double sum = 0, square = 0, low = value.At(0), high = value.At(0);
  for (float x : value.As<float>()) {
    sum += x;
    square += static_cast<double>(x) * x;
    low = std::min<double>(low, x);
    high = std::max<double>(high, x);
  }
  const auto count = static_cast<double>(value.elements());
  EXPECT_NEAR(sum / count, row[3].get<double>(), kTolerance * rms);
  EXPECT_NEAR(std::sqrt(square / count), rms, kTolerance * rms);
  EXPECT_NEAR(low, row[5].get<double>(), kTolerance * rms);
  EXPECT_NEAR(high, row[6].get<double>(), kTolerance * rms);
  EXPECT_NEAR(value.At(0), row[7].get<double>(), kTolerance * rms);
  EXPECT_NEAR(value.At(value.elements() - 1), row[8].get<double>(), kTolerance * rms);
}

TEST_P(GraphSeeded, EveryConvolutionHasTheExpectedNumbers) {
  std::vector<Tensor> inputs;
  inputs.push_back(Input());
  auto values = EvaluateGraph(graph_, inputs, KeepValues::kAll, kSeededThreads);
  ASSERT_TRUE(values.ok()) << values.status().message();
  std::map<std::string, int> by_name;
  for (int id = 0; id < graph_.size(); ++id) by_name.emplace(graph_.node(id).name, id);
  for (const Json& row : expected_["values"]) {
    const std::string name = row[0];
    const int id = name == "(softmax input)" ? Logits() : by_name.at(name);
    ExpectRow((*values)[static_cast<std::size_t>(id)], row);
  }
  ExpectLogits((*values)[static_cast<std::size_t>(Logits())]);
}

/// The networks in which the fold pass changes something: all except vgg19.
class GraphSeededFolds : public GraphSeeded {};

TEST_P(GraphSeededFolds, OptimizedNetworkGivesTheSameLogits) {
  graph_.SetOutputs({Logits()});
  std::vector<Tensor> inputs;
  inputs.push_back(Input());
  auto optimized = Optimize(std::move(graph_));
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  for (const Node& node : optimized->nodes()) {
    EXPECT_FALSE(node.kind == NodeKind::kOperator && node.op.kind == OpKind::kBatchNorm);
  }
  auto outputs = EvaluateGraph(*optimized, inputs, KeepValues::kOutputs, kSeededThreads);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ExpectLogits((*outputs)[0]);
}

INSTANTIATE_TEST_SUITE_P(Own, GraphSeededFolds, testing::Values("own_light"));
INSTANTIATE_TEST_SUITE_P(Own, GraphSeeded, testing::Values("own_light"));
INSTANTIATE_TEST_SUITE_P(Light, GraphSeededFolds,
                         testing::Values("light_squeezenet", "light_shufflenet", "light_resnet50",
                                         "light_inception_v2", "light_densenet121"),
                         [](const auto& tested) { return std::string(tested.param); });
INSTANTIATE_TEST_SUITE_P(Light, GraphSeeded,
                         testing::Values("light_squeezenet", "light_shufflenet", "light_resnet50",
                                         "light_inception_v2", "light_densenet121", "light_vgg19"),
                         [](const auto& tested) { return std::string(tested.param); });

// The packed quantized network: the last layer is float32, all others are exact.
class GraphSeededRelay : public testing::TestWithParam<const char*> {};

TEST_P(GraphSeededRelay, OptimizedPackedNetworkGivesTheSameResult) {
  const std::string path = SharedData(std::string("relay/") + GetParam() + ".relay");
  TW_NEEDS_FILE(path);
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  const Node& input = graph->node(graph->inputs()[0]);
  std::vector<Tensor> inputs;
  inputs.push_back(
      MakeSyntheticInput(input.name, input.type, SyntheticInputRule::kSeededQuantized));
  auto expected = EvaluateGraph(*graph, inputs, KeepValues::kOutputs, kSeededThreads);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  auto optimized = Optimize(*std::move(graph));
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  auto actual = EvaluateGraph(*optimized, inputs, KeepValues::kOutputs, kSeededThreads);
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  for (std::int64_t i = 0; i < (*expected)[0].elements(); ++i) {
    ASSERT_EQ((*actual)[0].At(i), (*expected)[0].At(i)) << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Own, GraphSeededRelay, testing::Values("own_packed"));
INSTANTIATE_TEST_SUITE_P(Shared, GraphSeededRelay, testing::Values("resnet18_v1_vta_packed"));

}  // namespace
}  // namespace tilewright
