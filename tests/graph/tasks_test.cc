#include "src/graph/passes/passes.h"

#include <gtest/gtest.h>

#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/graph/partition/tasks.h"
#include "tests/graph/shared_data.h"

namespace tilewright {
namespace {

struct Network {
  const char* file;
  const char* expected;
  bool same_sites = true;
};

class GraphTasks : public testing::TestWithParam<Network> {};

// Compares the fields that both lists have, and the order of tasks and of sites.
TEST_P(GraphTasks, EqualTheIndependentList) {
  const std::string path = SharedData(GetParam().file);
  const std::string expected_path =
      SharedData("expected/tasks_" + std::string(GetParam().expected) + ".json");
  TW_NEEDS_FILE(path);
  TW_NEEDS_FILE(expected_path);
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto tasks = ExtractTasks(*graph);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  const Json actual = *ParseJson(
      TasksToJson(graph->name, *tasks, records::AutotvmTuplesOn(*Target::Parse("llvm"))));
  const Json expected = *ParseJson(*ReadFile(expected_path));
  for (const char* key : {"distinct_tasks", "occurrences", "total_macs"}) {
    EXPECT_EQ(actual[key], expected[key]) << key;
  }
  ASSERT_EQ(actual["tasks"].size(), expected["tasks"].size());
  for (std::size_t i = 0; i < expected["tasks"].size(); ++i) {
    for (const auto& [key, value] : expected["tasks"][i].items()) {
      if (key == "sites" && !GetParam().same_sites) continue;
      EXPECT_EQ(actual["tasks"][i][key], value) << "task " << i << " field " << key;
    }
  }
}

std::string NameOfFile(const testing::TestParamInfo<Network>& tested) {
  const std::string file = tested.param.file;
  const std::size_t begin = file.find('/') + 1;
  return file.substr(begin, file.rfind('.') - begin);
}

INSTANTIATE_TEST_SUITE_P(Own, GraphTasks,
                         testing::Values(Network{"onnx/own_light.onnx", "own_light"},
                                         Network{"relay/own_packed.relay", "own_packed"},
                                         Network{"relay/own_fixed.relay", "own_fixed"}),
                         NameOfFile);
INSTANTIATE_TEST_SUITE_P(
    Networks, GraphTasks,
    testing::Values(Network{"onnx/light_resnet50.onnx", "light_resnet50"},
                    Network{"onnx/light_squeezenet.onnx", "light_squeezenet"},
                    Network{"onnx/light_shufflenet.onnx", "light_shufflenet"},
                    Network{"onnx/light_densenet121.onnx", "light_densenet121"},
                    Network{"onnx/light_inception_v2.onnx", "light_inception_v2"},
                    Network{"onnx/light_vgg19.onnx", "light_vgg19"},
                    Network{"relay/resnet18_v1_vta_packed.relay", "resnet18_v1_vta_packed"},
                    Network{"relay/resnet50_nhwc_before_partition.relay", "resnet50_nhwc"},
                    Network{"relay/resnet50_nhwc_after_partition.relay", "resnet50_nhwc", false},
                    Network{"relay/conv_bn_relu.relay", "conv_bn_relu", false}),
    NameOfFile);

}  // namespace
}  // namespace tilewright
