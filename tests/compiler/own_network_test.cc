// A small network of Tilewright with weights and results in files, for tests that otherwise need
// external networks. The results are from ONNX Runtime (bench/peers/small_network.py).

#include <gtest/gtest.h>

#include <cmath>

#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/ir/graph.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/media/npy.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

const std::string kOwnFolder = TILEWRIGHT_SOURCE_DIR "/tests/fixtures/data/";

Tensor OwnTensor(const std::string& file) {
  auto bytes = ReadFile(kOwnFolder + file);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  auto tensor = ParseNpy(*bytes);
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  return *std::move(tensor);
}

void ExpectOwnResult(const Tensor& result) {
  const Tensor expected = OwnTensor("network_output.npy");
  ASSERT_EQ(result.shape(), expected.shape());
  double square = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) square += expected.At(i) * expected.At(i);
  const double rms = std::sqrt(square / static_cast<double>(expected.elements()));
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    EXPECT_NEAR(result.At(i), expected.At(i), 1e-5 * rms) << i;
  }
}

class OwnNetwork : public testing::Test {
 protected:
  void SetUp() override {
    auto graph = LoadGraph(kOwnFolder + "network.onnx");
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    graph_ = *std::move(graph);
    inputs_.push_back(OwnTensor("network_input.npy"));
  }
  Graph graph_;
  std::vector<Tensor> inputs_;
};

TEST_F(OwnNetwork, TheReferenceAgreesBeforeAndAfterItsPasses) {
  const auto plain = EvaluateGraph(graph_, inputs_);
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  ExpectOwnResult((*plain)[0]);
  const auto optimized = Optimize(std::move(graph_));
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  const auto after = EvaluateGraph(*optimized, inputs_);
  ASSERT_TRUE(after.ok()) << after.status().message();
  ExpectOwnResult((*after)[0]);
}

TEST_F(OwnNetwork, HasTheTasksThatItIsMadeOf) {
  const auto tasks = ExtractTasks(graph_);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  std::vector<std::string> keys;
  int tuples = 0;
  for (const ExtractedTask& task : *tasks) {
    keys.push_back(task.workload.Key() + " " + task.epilogue.ToString());
    auto tuple = records::AutotvmTuplesOn(*Target::Parse("llvm"))(task.workload);
    if (tuple.empty()) continue;  // AutoTVM has no such task for this CPU
    ++tuples;
    auto again = records::ParseAutotvmTuple(tuple);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, task.workload);
  }
  const std::vector<std::string> expected = {
      "conv2d(float32[1,3,24,24]NCHW,float32[16,3,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->float32 "
      "add(channel:float32);relu",
      "depthwise_conv2d(float32[1,16,12,12]NCHW,float32[16,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g16)->"
      "float32 add(channel:float32);relu",
      "conv2d(float32[1,16,12,12]NCHW,float32[16,16,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32 "
      "add(channel:float32);add(tensor:float32);relu",
      "group_conv2d(float32[1,16,6,6]NCHW,float32[24,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)->float32 "
      "add(channel:float32);clip(0,6)",
      "dense(float32[1,24]MK,float32[10,24]NK)->float32 add(channel:float32)",
  };
  EXPECT_EQ(keys, expected);
  EXPECT_GE(tuples, 4);
}

TEST_F(OwnNetwork, CompiledItGivesTheSame) {
  const auto folder = ScopedTempDir::Create("own-network");
  ASSERT_TRUE(folder.ok());
  for (int threads : {1, 2}) {
    auto graph = LoadGraph(kOwnFolder + "network.onnx");
    ASSERT_TRUE(graph.ok());
    CompileOptions options;
    options.templates = &BuiltInTemplates();
    options.target = *Target::Parse("native");
    if (threads > 1) options.target.SetOption("num-threads", std::to_string(threads));
    const std::string path = folder->path() + "/network" + std::to_string(threads) + ".so";
    options.device = ProbeHostCpu();
    const auto compiled = Compile(*std::move(graph), options, path);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    const auto library = ModelLibrary::Open(path);
    ASSERT_TRUE(library.ok()) << library.status().message();
    const auto outputs = library->Run(inputs_);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    ExpectOwnResult((*outputs)[0]);
  }
}

}  // namespace
}  // namespace tilewright
