// Whole networks with seeded weights, compiled with default configs, compared with the results of
// an independent program.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"
#include "tests/support/data_file.h"

namespace tilewright {
namespace {

constexpr int kBuildThreads = 2;
constexpr double kTolerance = 1e-4;  // of single numbers, relative to the root mean square

struct Loaded {
  ScopedTempDir folder;
  ModelLibrary model;
};

Result<Loaded> CompileAndLoad(Graph graph, int threads) {
  auto target = Target::Parse("native");
  TW_RETURN_IF_ERROR(target);
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *target;
  options.target.SetOption("num-threads", std::to_string(threads));
  options.device = ProbeHostCpu();
  options.build_threads = kBuildThreads;
  auto folder = ScopedTempDir::Create("tilewright-networks-test");
  TW_RETURN_IF_ERROR(folder);
  auto compiled = Compile(std::move(graph), options, folder->path() + "/model.so");
  TW_RETURN_IF_ERROR(compiled);
  std::cout << compiled->kernels << " kernels, " << compiled->transforms << " layout changes, "
            << compiled->arena_bytes / 1024 << " KiB of memory; planned in "
            << compiled->plan_seconds << " s, built in " << compiled->build_seconds
            << " s, linked in " << compiled->link_seconds << " s\n";
  auto model = ModelLibrary::Open(compiled->library_path);
  TW_RETURN_IF_ERROR(model);
  return Loaded{*std::move(folder), *std::move(model)};
}

void ExpectNear(const Tensor& output, const std::vector<double>& expected) {
  ASSERT_EQ(static_cast<std::size_t>(output.elements()), expected.size());
  double square = 0;
  for (double value : expected) square += value * value;
  const double rms = std::sqrt(square / static_cast<double>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(output.At(static_cast<std::int64_t>(i)), expected[i], kTolerance * rms) << i;
  }
}

/// Runs a model. The intermediate integers that the library keeps as values of the source must have
/// the checksums of `expected`.
std::vector<Tensor> RunExactly(const ModelLibrary& model, const std::vector<Tensor>& inputs,
                               const Json& expected) {
  std::map<std::string, std::string> checksums;
  for (const Json& row : expected["values"]) checksums[row[0]] = row[8];
  int compared = 0;
  auto outputs = model.RunObserved(inputs, [&](std::size_t index, Tensor result) {
    const ModelOperator& op = model.operators()[index];
    const auto checksum = checksums.find(op.result.name);
    if (checksum == checksums.end()) return Status();
    ++compared;
    const std::span bytes(result.data(), static_cast<std::size_t>(result.bytes()));
    EXPECT_EQ(HexOf(Crc32(bytes)).substr(8), checksum->second) << op.result.name;
    return Status();
  });
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_GT(compared, 0);
  std::cout << compared << " values compared\n";
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
}

class CompiledOnnx : public testing::TestWithParam<const char*> {};

TEST_P(CompiledOnnx, GivesTheExpectedLogits) {
  const std::string path = DataFile(std::string("onnx/") + GetParam() + ".onnx");
  const std::string numbers = DataFile(std::string("expected/seeded_") + GetParam() + ".json");
  if (!FileExists(path) || !FileExists(numbers)) GTEST_SKIP() << "needs " << path;
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kAllFloat);
  const Node& last = graph->node(graph->outputs()[0]);
  if (last.op.kind == OpKind::kSoftmax) graph->SetOutputs({last.inputs[0]});
  std::vector<Tensor> inputs;
  const Node& input = graph->node(graph->inputs()[0]);
  inputs.push_back(MakeSyntheticInput(input.name, input.type, SyntheticInputRule::kRamp));
  // One thread: on a busy machine, two threads would wait for each other in every operator.
  auto loaded = CompileAndLoad(*std::move(graph), 1);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  auto outputs = loaded->model.Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  const Json expected = *ParseJson(*ReadFile(numbers));
  ExpectNear((*outputs)[0], expected["logits"].get<std::vector<double>>());
}

INSTANTIATE_TEST_SUITE_P(Own, CompiledOnnx, testing::Values("own_light"));
INSTANTIATE_TEST_SUITE_P(Light, CompiledOnnx,
                         testing::Values("light_squeezenet", "light_shufflenet", "light_resnet50",
                                         "light_inception_v2", "light_densenet121", "light_vgg19"),
                         [](const auto& tested) { return std::string(tested.param); });

struct RelayFile {
  const char *text, *numbers;
  double scale = 0;  // if the input is quantized
};
void PrintTo(const RelayFile& file, std::ostream* out) { *out << file.text; }
class CompiledPacked : public testing::TestWithParam<RelayFile> {};

TEST_P(CompiledPacked, GivesTheExpectedLogits) {
  const std::string path = DataFile(std::string("relay/") + GetParam().text + ".relay");
  const std::string numbers = DataFile(std::string("expected/") + GetParam().numbers + ".json");
  if (!FileExists(path) || !FileExists(numbers)) GTEST_SKIP() << "needs " << path;
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  std::vector<Tensor> inputs;
  const Node& data = graph->node(graph->inputs()[0]);
  inputs.push_back(MakeSyntheticInput(data.name, data.type, SyntheticInputRule::kSeededQuantized));
  auto loaded = CompileAndLoad(*std::move(graph), 2);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Json expected = *ParseJson(*ReadFile(numbers));
  const std::vector<Tensor> outputs = RunExactly(loaded->model, inputs, expected);
  ASSERT_EQ(outputs.size(), 1U);
  ExpectNear(outputs[0], expected["output"].get<std::vector<double>>());
}

INSTANTIATE_TEST_SUITE_P(Own, CompiledPacked,
                         testing::Values(RelayFile{"own_packed", "seeded_own_packed"}));
INSTANTIATE_TEST_SUITE_P(Shared, CompiledPacked,
                         testing::Values(RelayFile{"resnet18_v1_vta_packed",
                                                   "seeded_resnet18_vta_packed"}));

class CompiledFragment : public testing::TestWithParam<RelayFile> {};

TEST_P(CompiledFragment, IsExact) {
  const std::string path = DataFile(std::string("relay/") + GetParam().text + ".relay");
  const std::string numbers = DataFile(std::string("expected/") + GetParam().numbers + ".json");
  if (!FileExists(path) || !FileExists(numbers)) GTEST_SKIP() << "needs " << path;
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  const Node& input = graph->node(graph->inputs()[0]);
  std::vector<Tensor> inputs;
  inputs.push_back(MakeQuantizedInput(input.name, input.type, GetParam().scale, 57));
  auto loaded = CompileAndLoad(*std::move(graph), 1);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  RunExactly(loaded->model, inputs, *ParseJson(*ReadFile(numbers)));
}
INSTANTIATE_TEST_SUITE_P(Own, CompiledFragment,
                         testing::Values(RelayFile{"own_fixed", "seeded_own_fixed", 0.05}));
INSTANTIATE_TEST_SUITE_P(Shared, CompiledFragment,
                         testing::Values(RelayFile{"efficientnet_fused_int16",
                                                   "seeded_efficientnet_fragment", 0.0374636}));

}  // namespace
}  // namespace tilewright
