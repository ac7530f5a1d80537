#include "src/models/models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/made_up.h"
#include "src/tensor/reference/reference.h"
#include "tests/graph/shared_data.h"

namespace tilewright {
namespace {

Graph MakeModel(std::string_view name, const ModelOptions& options = {}) {
  auto bytes = MakeModelOnnx(name, options);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  auto graph = ImportOnnx(*bytes, std::string(name));
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

struct Named {
  const char* model;
  const char* expected;
};
class ModelTasks : public testing::TestWithParam<Named> {};

// Everything but the names of values.
TEST_P(ModelTasks, EqualTheIndependentList) {
  const std::string path =
      SharedData("expected/tasks_" + std::string(GetParam().expected) + ".json");
  TW_NEEDS_FILE(path);
  auto tasks = ExtractTasks(MakeModel(GetParam().model));
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  const Json actual =
      *ParseJson(TasksToJson("net", *tasks, records::AutotvmTuplesOn(*Target::Parse("llvm"))));
  const Json expected = *ParseJson(*ReadFile(path));
  EXPECT_EQ(actual["total_macs"], expected["total_macs"]);
  ASSERT_EQ(actual["tasks"].size(), expected["tasks"].size());
  for (std::size_t i = 0; i < expected["tasks"].size(); ++i) {
    for (const auto& [key, value] : expected["tasks"][i].items()) {
      if (key != "sites") {
        EXPECT_EQ(actual["tasks"][i][key], value) << i << " " << key;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Models, ModelTasks,
                         testing::Values(Named{"mobilenet_v2", "mobilenet_v2"},
                                         Named{"squeezenet1_1", "light_squeezenet"}),
                         [](const auto& tested) { return std::string(tested.param.model); });

TEST(Models, MobilenetTuplesAreThePublishedOnes) {
  const std::string path = SharedData("expected/mobilenet_v2_workloads.txt");
  TW_NEEDS_FILE(path);
  auto tasks = ExtractTasks(MakeModel("mobilenet_v2"));
  ASSERT_TRUE(tasks.ok());
  const Target target = *Target::Parse("llvm");
  std::set<std::string> expected, actual;
  for (const std::string& line : Split(*ReadFile(path), '\n')) {
    if (!line.empty()) expected.insert(line);
  }
  for (const ExtractedTask& task : *tasks) {
    auto tuple = records::AutotvmTuple(task.workload, records::AutotvmName(task.workload, target));
    ASSERT_TRUE(tuple.ok()) << tuple.status().message();
    // The published list has the kernels without a packed weight under the name "nopack".
    actual.insert(*tuple);
  }
  EXPECT_EQ(actual, expected);
}

struct Table {
  const char* model;
  std::string file;
};
void PrintTo(const Table& table, std::ostream* out) { *out << table.file; }
class ModelWorkloads : public testing::TestWithParam<Table> {};

// The convolutions and counts of tables made from the papers, and of the benchmark's.
TEST_P(ModelWorkloads, EqualTheTable) {
  const std::string path = SharedData(GetParam().file);
  TW_NEEDS_FILE(path);
  std::map<std::string, std::int64_t> expected, actual;
  for (const std::string& line : Split(*ReadFile(path), '\n')) {
    const auto cells = Split(line, ',');
    if (cells.size() != 13 || cells[0] == "name" || cells[0].starts_with("dense")) continue;
    std::string key;
    for (std::size_t i = 1; i < 12; ++i) key += cells[i] + ",";
    expected[key] = *ParseInt64(cells[12]);
  }
  auto tasks = ExtractTasks(MakeModel(GetParam().model));
  ASSERT_TRUE(tasks.ok());
  for (const ExtractedTask& task : *tasks) {
    const auto shape = ConvShapeOf(task.workload);
    if (!shape.ok()) continue;
    std::string key;
    for (std::int64_t number :
         {shape->n, shape->c, shape->h, shape->w, shape->k, shape->r, shape->s, shape->stride_h,
          shape->pad_top, shape->dilation_h, shape->groups}) {
      key += std::to_string(number) + ",";
    }
    actual[key] = task.occurrences();
  }
  EXPECT_EQ(actual, expected);
}
std::vector<Table> TablesIn(const std::string& begin) {
  std::vector<Table> tables;
  for (const char* model : {"resnet18_v1", "resnet50_v1", "mobilenet_v2"}) {
    tables.push_back({model, begin + model + ".csv"});
  }
  return tables;
}
INSTANTIATE_TEST_SUITE_P(Own, ModelWorkloads,
                         testing::ValuesIn(TablesIn("expected/convolutions_")));
INSTANTIATE_TEST_SUITE_P(Tables, ModelWorkloads,
                         testing::ValuesIn(TablesIn("../bench-workloads/")));

class QuantizedModels : public testing::TestWithParam<std::string_view> {};

// No tensor of the quantized form dies out or sticks to its ends.
TEST_P(QuantizedModels, ValuesNeitherVanishNorSaturate) {
  const Graph graph = MakeModel(GetParam(), {.batch = 1, .int8 = true});
  const int input = graph.inputs()[0];
  std::vector<Tensor> inputs;
  inputs.push_back(
      MakeInput(graph.node(input).name, graph.node(input).type, InputRule::kSeededQuantized));
  auto values = EvaluateGraph(graph, inputs, KeepValues::kAll, 2);
  ASSERT_TRUE(values.ok()) << values.status().message();
  for (int id = 0; id < graph.size(); ++id) {
    const Tensor& value = (*values)[static_cast<std::size_t>(id)];
    if (graph.node(id).kind != NodeKind::kOperator || value.dtype() != kInt8) continue;
    double square = 0;
    std::int64_t at_end = 0;
    for (std::int8_t x : value.As<std::int8_t>()) {
      square += x * x;
      at_end += std::abs(x) == 127 ? 1 : 0;
    }
    const auto count = static_cast<double>(value.elements());
    EXPECT_GT(std::sqrt(square / count), 4) << graph.node(id).name;
    EXPECT_LT(static_cast<double>(at_end) / count, 0.15) << graph.node(id).name;
  }
}
INSTANTIATE_TEST_SUITE_P(Models, QuantizedModels, testing::ValuesIn(ModelNames()),
                         [](const auto& tested) { return std::string(tested.param); });

struct Form {
  std::string_view model;
  bool int8;
};
class OptimizedModels : public testing::TestWithParam<Form> {};

// Integers are equal; floats differ by what folding a normalization into a weight rounds.
void ExpectSame(const Tensor& actual, const Tensor& expected, const std::string& name) {
  ASSERT_EQ(actual.type(), expected.type()) << name;
  const Comparison comparison = Compare(actual, expected, 1e-4);
  EXPECT_TRUE(comparison.ok) << name << " differs by " << comparison.max_abs_error << ", rms "
                             << comparison.reference_rms;
}

TEST_P(OptimizedModels, ValuesOfTheSourceStayTheSame) {
  const ModelOptions options{.batch = 1, .int8 = GetParam().int8};
  Graph graph = MakeModel(GetParam().model, options);
  std::vector<Tensor> inputs;
  inputs.push_back(MakeInput("data", graph.node(graph.inputs()[0]).type, InputRule::kRandom));
  auto expected = EvaluateGraph(graph, inputs, KeepValues::kAll, 2);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  std::map<std::string, const Tensor*> by_name;
  for (int id = 0; id < graph.size(); ++id) {
    by_name[graph.node(id).name] = &(*expected)[static_cast<std::size_t>(id)];
  }
  auto optimized = Optimize(std::move(graph));
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  auto actual = EvaluateGraph(*optimized, inputs, KeepValues::kAll, 2);
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  int compared = 0;
  for (int id = 0; id < optimized->size(); ++id) {
    const Node& node = optimized->node(id);
    if (node.kind != NodeKind::kOperator || SourceName(node.name) != node.name) continue;
    ExpectSame((*actual)[static_cast<std::size_t>(id)], *by_name.at(node.name), node.name);
    ++compared;
  }
  EXPECT_GT(compared, 40);
}
INSTANTIATE_TEST_SUITE_P(Models, OptimizedModels,
                         testing::Values(Form{"resnet18_v1", false}, Form{"resnet18_v1", true},
                                         Form{"mobilenet_v2", false}, Form{"mobilenet_v2", true},
                                         Form{"squeezenet1_1", false}),
                         [](const auto& tested) {
                           return std::string(tested.param.model) +
                                  (tested.param.int8 ? "_int8" : "_float32");
                         });

TEST(Models, QuantizedConvolutionsAreInt8WithOneEpilogue) {
  auto tasks = ExtractTasks(MakeModel("resnet18_v1", {.batch = 1, .int8 = true}));
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(tasks->size(), 12U);
  EXPECT_EQ((*tasks)[1].workload.Key(),
            "conv2d(int8[1,64,56,56]NCHW,int8[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32");
  EXPECT_EQ((*tasks)[1].epilogue.ToString().substr(0, 22), "add(channel:int32);rel");
}

// A record says an epilogue as text, and is compared with a graph's.
TEST(Models, EpiloguesAreWhatTheirTextSays) {
  for (const bool int8 : {false, true}) {
    for (const FuseRule rule : {FuseRule::kWide, FuseRule::kNarrow, FuseRule::kResiduals}) {
      auto tasks = ExtractTasks(MakeModel("resnet18_v1", {.batch = 1, .int8 = int8}), rule);
      ASSERT_TRUE(tasks.ok());
      for (const auto& task : *tasks) {
        EXPECT_EQ(*Epilogue::Parse(task.epilogue.ToString()), task.epilogue)
            << task.epilogue.ToString();
      }
    }
  }
}

TEST(Models, BatchIsTheFirstDimension) {
  const Graph graph = MakeModel("squeezenet1_1", {.batch = 3});
  EXPECT_EQ(graph.node(graph.outputs()[0]).type.ToString(), "float32[3,1000,1,1]");
}

TEST(Models, InHalfPrecisionHaveTheTasksOfSinglePrecision) {
  for (const char* name : {"resnet18_v1", "mobilenet_v2"}) {
    const auto single = ExtractTasks(MakeModel(name));
    const auto half = ExtractTasks(MakeModel(name, {.float16 = true}));
    ASSERT_TRUE(single.ok() && half.ok()) << half.status().message();
    ASSERT_EQ(half->size(), single->size());
    for (std::size_t i = 0; i < half->size(); ++i) {
      Workload w = (*half)[i].workload;
      EXPECT_EQ(w.data.dtype, kFloat16);
      w.data.dtype = w.weight.dtype = w.out_dtype = kFloat32;
      EXPECT_EQ(w, (*single)[i].workload);
      EXPECT_EQ((*half)[i].sites, (*single)[i].sites);
    }
  }
}

TEST(Models, AreTheSameEveryTime) {
  EXPECT_EQ(*MakeModelOnnx("squeezenet1_1"), *MakeModelOnnx("squeezenet1_1"));
}

TEST(Models, RejectsUnknownNamesAndBatches) {
  EXPECT_EQ(MakeModelOnnx("alexnet").status(),
            NotFound("no built-in model alexnet, expected one of mobilenet_v2, resnet18_v1, "
                     "resnet50_v1, squeezenet1_1"));
  EXPECT_EQ(MakeModelOnnx("resnet18_v1", {.batch = 0}).status(),
            InvalidArgument("batch is 0, expected 1 to 1024"));
  EXPECT_EQ(MakeModelOnnx("resnet18_v1", {.int8 = true, .float16 = true}).status(),
            InvalidArgument("int8 and float16, expected one of them"));
}

}  // namespace
}  // namespace tilewright
