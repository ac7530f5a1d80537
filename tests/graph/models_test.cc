#include "src/models/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/synthetic_data.h"
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

constexpr std::string_view kEncoder = "bert_base_encoder";

/// Random hidden states with a root mean square of 1, as the encoder expects them.
Tensor HiddenStates(const TensorType& type) {
  Tensor hidden = MakeSyntheticInput("data", type, SyntheticInputRule::kRandom);
  for (std::int64_t i = 0; i < hidden.elements(); ++i) hidden.Set(i, std::sqrt(3) * hidden.At(i));
  return hidden;
}

double RmsOf(const Tensor& value) {
  double square = 0;
  for (std::int64_t i = 0; i < value.elements(); ++i) square += value.At(i) * value.At(i);
  return std::sqrt(square / static_cast<double>(value.elements()));
}

struct Named {
  const char* model;
  const char* expected;
};
class ModelTasks : public testing::TestWithParam<Named> {};

// Compares everything but the names of values.
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

// The convolutions and the counts in the tables taken from the papers and from the benchmark.
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

// No tensor of the quantized model becomes all zeros or saturates.
TEST_P(QuantizedModels, ValuesNeitherVanishNorSaturate) {
  const bool encoder = GetParam() == kEncoder;
  const Graph graph = MakeModel(GetParam(), {.int8 = true, .layers = encoder ? 2 : 0});
  const Node& input = graph.node(graph.inputs()[0]);
  std::vector<Tensor> inputs;
  inputs.push_back(
      encoder ? HiddenStates(input.type)
              : MakeSyntheticInput(input.name, input.type, SyntheticInputRule::kSeededQuantized));
  auto values = EvaluateGraph(graph, inputs, KeepValues::kAll, 2);
  ASSERT_TRUE(values.ok()) << values.status().message();
  for (int id = 0; id < graph.size(); ++id) {
    const Tensor& value = (*values)[static_cast<std::size_t>(id)];
    if (graph.node(id).kind != NodeKind::kOperator || value.dtype() != kInt8) continue;
    const auto at_end =
        std::ranges::count_if(value.As<std::int8_t>(), [](int x) { return std::abs(x) >= 127; });
    EXPECT_GT(RmsOf(value), 4) << graph.node(id).name;
    EXPECT_LT(static_cast<double>(at_end) / static_cast<double>(value.elements()), 0.15)
        << graph.node(id).name;
  }
}
INSTANTIATE_TEST_SUITE_P(Models, QuantizedModels, testing::ValuesIn(ModelNames()),
                         [](const auto& tested) { return std::string(tested.param); });

// The float models keep their magnitudes too, and different positions keep different values.
TEST(Models, HiddenStatesOfTheEncoderKeepTheirSize) {
  const Graph graph = MakeModel(kEncoder, {.layers = 2});
  std::vector<Tensor> inputs;
  inputs.push_back(HiddenStates(graph.node(graph.inputs()[0]).type));
  const auto outputs = EvaluateGraph(graph, inputs, KeepValues::kOutputs, 2);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  const Tensor& hidden = (*outputs)[0];
  ASSERT_EQ(hidden.type().ToString(), "float32[1,128,768]");
  EXPECT_NEAR(RmsOf(hidden), 1, 0.2);
  Tensor differences(hidden.type());  // between each position and the next one
  for (std::int64_t i = 0; i < hidden.elements(); ++i) {
    differences.Set(i, hidden.At(i) - hidden.At((i + 768) % hidden.elements()));
  }
  EXPECT_GT(RmsOf(differences), 0.5);
}

struct Form {
  std::string_view model;
  bool int8;
  std::int64_t layers = 0;
  int compared = 41;  ///< minimum number of values that keep their names
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.model; }
class OptimizedModels : public testing::TestWithParam<Form> {};

// Integers have to be equal. Floats may differ by the rounding of folding a normalization into a
// weight.
void ExpectSame(const Tensor& actual, const Tensor& expected, const std::string& name) {
  ASSERT_EQ(actual.type(), expected.type()) << name;
  const Comparison comparison = Compare(actual, expected, 1e-4);
  EXPECT_TRUE(comparison.ok) << name << " differs by " << comparison.max_abs_error << ", rms "
                             << comparison.reference_rms;
}

TEST_P(OptimizedModels, ValuesOfTheSourceStayTheSame) {
  const ModelOptions options{.int8 = GetParam().int8, .layers = GetParam().layers};
  Graph graph = MakeModel(GetParam().model, options);
  std::vector<Tensor> inputs;
  inputs.push_back(
      MakeSyntheticInput("data", graph.node(graph.inputs()[0]).type, SyntheticInputRule::kRandom));
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
  EXPECT_GE(compared, GetParam().compared);
}
INSTANTIATE_TEST_SUITE_P(Models, OptimizedModels,
                         testing::Values(Form{"resnet18_v1", false}, Form{"resnet18_v1", true},
                                         Form{"mobilenet_v2", false}, Form{"mobilenet_v2", true},
                                         Form{"squeezenet1_1", false}, Form{kEncoder, false, 1, 9},
                                         Form{kEncoder, true, 1, 12}),
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

std::map<std::string, std::int64_t> UsesOf(const ModelOptions& options) {
  std::map<std::string, std::int64_t> uses;
  auto tasks = ExtractTasks(MakeModel(kEncoder, options));
  EXPECT_TRUE(tasks.ok()) << tasks.status().message();
  for (const ExtractedTask& task : *tasks) uses[task.workload.Key()] += task.occurrences();
  return uses;
}

TEST(Models, TheEncoderHasSixProjectionsAndTwoProductsALayer) {
  for (const std::string type : {"float32", "float16"}) {
    const std::map<std::string, std::int64_t> expected = {
        {"batch_matmul(" + type + "[12,128,64]BMK," + type + "[12,128,64]BNK)->" + type, 2},
        {"batch_matmul(" + type + "[12,128,128]BMK," + type + "[12,64,128]BNK)->" + type, 2},
        {"dense(" + type + "[128,768]MK," + type + "[768,768]NK)->" + type, 8},
        {"dense(" + type + "[128,768]MK," + type + "[3072,768]NK)->" + type, 2},
        {"dense(" + type + "[128,3072]MK," + type + "[768,3072]NK)->" + type, 2}};
    EXPECT_EQ(UsesOf({.float16 = type == "float16", .layers = 2}), expected);
  }
}

TEST(Models, TheQuantizedEncoderMultipliesWeightsOfInt8) {
  const std::map<std::string, std::int64_t> expected = {
      {"batch_matmul(float32[12,128,64]BMK,float32[12,128,64]BNK)->float32", 12},
      {"batch_matmul(float32[12,128,128]BMK,float32[12,64,128]BNK)->float32", 12},
      {"dense(int8[128,768]MK,int8[768,768]NK)->int32", 48},
      {"dense(int8[128,768]MK,int8[3072,768]NK)->int32", 12},
      {"dense(int8[128,3072]MK,int8[768,3072]NK)->int32", 12}};
  EXPECT_EQ(UsesOf({.int8 = true}), expected);
}

// A record stores an epilogue as text, which is compared with the epilogue of a graph.
TEST(Models, EpiloguesAreWhatTheirTextSays) {
  for (const bool int8 : {false, true}) {
    for (const FuseRule rule :
         {FuseRule::kUnrestricted, FuseRule::kUntilInt8, FuseRule::kUntilInt8WithResidual}) {
      auto tasks =
          ExtractTasks(MakeModel("resnet18_v1", {.batch = 1, .int8 = int8}), {.fuse = rule});
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
  const Graph encoder = MakeModel(kEncoder, {.batch = 3, .int8 = true, .layers = 1});
  EXPECT_EQ(encoder.node(encoder.outputs()[0]).type.ToString(), "float32[3,128,768]");
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
  const ModelOptions one_layer{.layers = 1};
  EXPECT_EQ(*MakeModelOnnx(kEncoder, one_layer), *MakeModelOnnx(kEncoder, one_layer));
}

TEST(Models, RejectsUnknownNamesAndBatches) {
  EXPECT_EQ(MakeModelOnnx("alexnet").status(),
            NotFound("no built-in model alexnet, expected one of bert_base_encoder, mobilenet_v2, "
                     "resnet18_v1, resnet50_v1, squeezenet1_1"));
  EXPECT_EQ(MakeModelOnnx("resnet18_v1", {.batch = 0}).status(),
            InvalidArgument("batch is 0, expected 1 to 1024"));
  EXPECT_EQ(MakeModelOnnx("resnet18_v1", {.int8 = true, .float16 = true}).status(),
            InvalidArgument("int8 and float16, expected one of them"));
  EXPECT_EQ(MakeModelOnnx(kEncoder, {.layers = 13}).status(),
            InvalidArgument("layers is 13, expected 0 to 12"));
  EXPECT_EQ(MakeModelOnnx("resnet18_v1", {.layers = 1}).status(),
            InvalidArgument("layers is 1, but resnet18_v1 has a fixed number of them"));
}

}  // namespace
}  // namespace tilewright
