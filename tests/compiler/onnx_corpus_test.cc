// The ONNX models of the fuzzer's corpus, compiled with and without a fast dot product, compared
// with the reference.

#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/compiler/check/compare.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

std::string CorpusFile(const std::string& name) {
  return TILEWRIGHT_SOURCE_DIR "/tests/fuzz/corpus/onnx/" + name + ".onnx";
}

using CorpusCase = std::tuple<const char*, const char*, Requantize>;

class OnnxCorpus : public testing::TestWithParam<CorpusCase> {};

TEST_P(OnnxCorpus, GivesTheNumbersOfTheReference) {
  const auto& [name, target, requantize] = GetParam();
  const std::string path = CorpusFile(name);
  const auto load = [&] { return LoadGraph(path, {requantize}); };
  auto graph = load();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::vector<Tensor> inputs;
  for (int id : graph->inputs()) {
    inputs.push_back(MakeSyntheticInput(graph->node(id).name, graph->node(id).type,
                                        SyntheticInputRule::kRandom));
  }
  auto folder = ScopedTempDir::Create("tilewright-onnx-corpus");
  ASSERT_TRUE(folder.ok());
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse(target);
  options.device = ProbeHostCpu();
  auto compiled = Compile(*std::move(graph), options, folder->path() + "/model.so");
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  auto model = ModelLibrary::Open(compiled->library_path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto report = Verify(*PartitionLike(*load(), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
}

std::string NameOf(const testing::TestParamInfo<CorpusCase>& tested) {
  const auto& [name, target, requantize] = tested.param;
  return std::string(name) + (std::string(target) == "native" ? "_native" : "_avx2") +
         (requantize == Requantize::kByFloat ? "_float" : "_integer");
}

// QDQ, QLinear and integer operators with scales and zero points per channel, of every padding.
INSTANTIATE_TEST_SUITE_P(
    Quantized, OnnxCorpus,
    testing::Combine(testing::Values("qdq", "quantized", "zero_points", "qlinear_matmul",
                                     "qdq_transpose", "computed_zero_points"),
                     testing::Values("native", "llvm -mcpu=core-avx2"),
                     testing::Values(Requantize::kByFloat, Requantize::kByIntegers)),
    NameOf);

// Resizing in every mode, a block of a transformer, windows over sequences, computed positions,
// windows over volumes, images sampled on a grid.
INSTANTIATE_TEST_SUITE_P(Float, OnnxCorpus,
                         testing::Combine(testing::Values("resize", "transformer", "sequence",
                                                          "places", "volume", "grid_sample",
                                                          "recurrent"),
                                          testing::Values("native", "llvm -mcpu=core-avx2"),
                                          testing::Values(Requantize::kByFloat)),
                         NameOf);

// A network before and after quantization, with the names that an exporter gives to both.
TEST(QuantizedNetworks, AreComparedWithTheFloatOneByName) {
  auto reference = LoadGraph(CorpusFile("qdq_float"));
  auto quantized = LoadGraph(CorpusFile("qdq"));
  ASSERT_TRUE(reference.ok() && quantized.ok());
  std::vector<Tensor> inputs;
  const Node& input = reference->node(reference->inputs()[0]);
  inputs.push_back(MakeSyntheticInput(input.name, input.type, SyntheticInputRule::kRandom));
  auto left = TraceGraph(*reference, inputs, 1), right = TraceGraph(*quantized, inputs, 1);
  ASSERT_TRUE(left.ok() && right.ok());
  auto report = CompareTraces(*left, *right, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  std::map<std::string, const LayerDifference*> layers;
  for (const LayerDifference& layer : report->layers) layers[layer.value] = &layer;
  for (const char* name : {"r", "e", "s", "h", "v", "k"}) {
    ASSERT_TRUE(layers.contains(name)) << name;
    EXPECT_EQ(layers[name]->other, std::string(name) + "_q");
    EXPECT_EQ(layers[name]->scale_source, ScaleSource::kSource);
    EXPECT_GT(layers[name]->sqnr_db, 20) << name;
  }
  EXPECT_TRUE(report->ok()) << report->Summary();
}

}  // namespace
}  // namespace tilewright
