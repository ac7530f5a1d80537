// The quantized Relay texts with synthetic constants compared with exact integers that an
// independent program computed, and the tasks of the fragment.

#include <gtest/gtest.h>

#include <map>

#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/graph/shared_data.h"

namespace tilewright {
namespace {

constexpr int kRelayThreads = 2;

std::map<std::string, int> NodesByName(const Graph& graph) {
  std::map<std::string, int> by_name;
  for (int id = 0; id < graph.size(); ++id) by_name.emplace(graph.node(id).name, id);
  return by_name;
}

/// A row is value, operator, shape, type, sum, sum of squares, minimum, maximum, CRC-32.
void ExpectExact(const Tensor& value, const Json& row) {
  SCOPED_TRACE(row[0].get<std::string>());
  ASSERT_EQ(value.shape(), row[2].get<std::vector<std::int64_t>>());
  ASSERT_EQ(DataTypeName(value.dtype()), row[3].get<std::string>());
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    sum += static_cast<std::int64_t>(value.At(i));
  }
  EXPECT_EQ(sum, row[4].get<std::int64_t>());
  const std::span bytes(value.data(), static_cast<std::size_t>(value.bytes()));
  EXPECT_EQ(HexOf(Crc32(bytes)).substr(8), row[8].get<std::string>());
}

struct RelayFile {
  const char *text, *numbers;
  double scale = 0;  // if the input is quantized
  std::int64_t synthetic_constants = 0;
};
void PrintTo(const RelayFile& file, std::ostream* out) { *out << file.text; }
class RelayPacked : public testing::TestWithParam<RelayFile> {};

TEST_P(RelayPacked, IsExact) {
  const std::string path = SharedData(std::string("relay/") + GetParam().text + ".relay");
  const std::string numbers = SharedData(std::string("expected/") + GetParam().numbers + ".json");
  TW_NEEDS_FILE(path);
  TW_NEEDS_FILE(numbers);
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  std::vector<Tensor> inputs;
  const Node& data = graph->node(graph->inputs()[0]);
  inputs.push_back(MakeSyntheticInput(data.name, data.type, SyntheticInputRule::kSeededQuantized));
  auto values = EvaluateGraph(*graph, inputs, KeepValues::kAll, kRelayThreads);
  ASSERT_TRUE(values.ok()) << values.status().message();
  const Json expected = *ParseJson(*ReadFile(numbers));
  const auto by_name = NodesByName(*graph);
  for (const Json& row : expected["values"]) {
    const auto id = static_cast<std::size_t>(by_name.at(row[0].get<std::string>()));
    ExpectExact((*values)[id], row);
  }
  const Tensor& output = (*values)[static_cast<std::size_t>(graph->outputs()[0])];
  const auto logits = expected["output"].get<std::vector<double>>();
  ASSERT_EQ(static_cast<std::size_t>(output.elements()), logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(output.At(static_cast<std::int64_t>(i)), logits[i], 5e-4) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Own, RelayPacked,
                         testing::Values(RelayFile{"own_packed", "seeded_own_packed"}));
INSTANTIATE_TEST_SUITE_P(Shared, RelayPacked,
                         testing::Values(RelayFile{"resnet18_v1_vta_packed",
                                                   "seeded_resnet18_vta_packed"}));

class RelayFragment : public testing::TestWithParam<RelayFile> {};

TEST_P(RelayFragment, IsExact) {
  const std::string path = SharedData(std::string("relay/") + GetParam().text + ".relay");
  const std::string numbers = SharedData(std::string("expected/") + GetParam().numbers + ".json");
  TW_NEEDS_FILE(path);
  TW_NEEDS_FILE(numbers);
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kAllFloat);  // equal to kMissing, because there are no floats
  EXPECT_EQ(graph->synthetic_constants, GetParam().synthetic_constants);
  const Node& input = graph->node(graph->inputs()[0]);
  std::vector<Tensor> inputs;
  inputs.push_back(MakeQuantizedInput(input.name, input.type, GetParam().scale, 57));
  auto values = EvaluateGraph(*graph, inputs, KeepValues::kAll, kRelayThreads);
  ASSERT_TRUE(values.ok()) << values.status().message();
  const auto by_name = NodesByName(*graph);
  const Json expected = *ParseJson(*ReadFile(numbers));
  for (const Json& row : expected["values"]) {
    const auto id = static_cast<std::size_t>(by_name.at(row[0].get<std::string>()));
    ExpectExact((*values)[id], row);
  }
}

INSTANTIATE_TEST_SUITE_P(Own, RelayFragment,
                         testing::Values(RelayFile{"own_fixed", "seeded_own_fixed", 0.05, 6}));
INSTANTIATE_TEST_SUITE_P(Shared, RelayFragment,
                         testing::Values(RelayFile{"efficientnet_fused_int16",
                                                   "seeded_efficientnet_fragment", 0.0374636, 47}));

TEST(RelayTasks, OfTheFragmentEqualTheIndependentList) {
  const std::string path = SharedData("relay/efficientnet_fused_int16.relay");
  const std::string list = SharedData("expected/tasks_efficientnet_fragment.json");
  TW_NEEDS_FILE(path);
  TW_NEEDS_FILE(list);
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto tasks = ExtractTasks(*graph);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  const Json actual = *ParseJson(
      TasksToJson(graph->name, *tasks, records::AutotvmTuplesOn(*Target::Parse("llvm"))));
  const Json expected = *ParseJson(*ReadFile(list));
  ASSERT_EQ(actual["tasks"].size(), expected["tasks"].size());
  for (std::size_t i = 0; i < expected["tasks"].size(); ++i) {
    for (const auto& [key, value] : expected["tasks"][i].items()) {
      EXPECT_EQ(actual["tasks"][i][key], value) << "task " << i << " field " << key;
    }
  }
}

}  // namespace
}  // namespace tilewright
