// Step loops as machine code compared with the reference: sizes that vectors and tiles do not
// divide, both orders of the steps, one thread and two.
#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/run.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"
#include "tests/support/recurrences.h"

namespace tilewright {
namespace {

struct StepsCase {
  const char* name;
  std::int64_t steps, batch, units;
  bool backwards = false, constant_weight = true;
  const char* target = "native";
  bool quantized = false;
};
void PrintTo(const StepsCase& c, std::ostream* os) { *os << c.name; }

Graph QuantizedStepsGraph(const StepsCase& c) {
  Graph graph;
  graph.name = "steps";
  const std::vector<TensorType> types = QuantizedRecurrenceInputs(c.steps, c.batch, c.units);
  Tensor weight = MakeSyntheticInput("weight", types[2], SyntheticInputRule::kRandom);
  Tensor totals(types[3]);
  for (std::int64_t row = 0; row < c.units; ++row) {
    for (std::int64_t i = 0; i < c.units; ++i) {
      totals.Set(row, totals.At(row) + weight.At(row * c.units + i));
    }
  }
  std::vector<int> inputs = {graph.AddInput("x", types[0]), graph.AddInput("h", types[1]),
                             c.constant_weight ? graph.AddConstant("weight", std::move(weight))
                                               : graph.AddInput("weight", types[2]),
                             graph.AddConstant("totals", std::move(totals))};
  graph.SetOutputs(
      {*graph.AddOperator("y", QuantizedRecurrence(c.batch, c.units, c.backwards), inputs)});
  return graph;
}

Graph StepsGraph(const StepsCase& c, double times = 1) {
  if (c.quantized) return QuantizedStepsGraph(c);
  Graph graph;
  graph.name = "steps";
  std::vector<int> inputs;
  for (const TensorType& type : GatedRecurrenceInputs(c.steps, c.batch, c.units)) {
    const std::string name = "in" + std::to_string(inputs.size());
    if (inputs.size() != 4 || !c.constant_weight) {
      inputs.push_back(graph.AddInput(name, type));
      continue;
    }
    Tensor weight = MakeSyntheticInput(name, type, SyntheticInputRule::kRandom);
    for (std::int64_t i = 0; i < weight.elements(); ++i) weight.Set(i, weight.At(i) * times);
    inputs.push_back(graph.AddConstant(name, std::move(weight)));
  }
  graph.SetOutputs(
      {*graph.AddOperator("y", GatedRecurrence(c.batch, c.units, c.backwards), inputs)});
  return graph;
}

CompileOptions StepsOptions(const StepsCase& c) {
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse(c.target);
  options.device = ProbeHostCpu();
  return options;
}

class Steps : public testing::TestWithParam<StepsCase> {};

TEST_P(Steps, GiveTheNumbersOfTheReference) {
  const StepsCase& c = GetParam();
  auto folder = ScopedTempDir::Create("tilewright-steps");
  ASSERT_TRUE(folder.ok());
  auto compiled = Compile(StepsGraph(c), StepsOptions(c), folder->path() + "/model.so");
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  auto model = ModelLibrary::Open(compiled->library_path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph graph = StepsGraph(c);
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    inputs.push_back(
        MakeSyntheticInput(graph.node(id).name, graph.node(id).type, SyntheticInputRule::kRandom));
  }
  for (std::int64_t i = 0; !c.quantized && i < inputs[1].elements(); ++i) {
    inputs[1].Set(i, i % c.batch == 0 || i < 3 * c.batch ? 1 : 0);
  }
  auto report = Verify(*PartitionLike(StepsGraph(c), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
}

const StepsCase kStepsCases[] = {
    {.name = "OneStep", .steps = 1, .batch = 1, .units = 16},
    {.name = "Vectors", .steps = 9, .batch = 1, .units = 64},
    {.name = "Backwards", .steps = 9, .batch = 3, .units = 32, .backwards = true},
    {.name = "Odd", .steps = 7, .batch = 5, .units = 13},
    {.name = "OddBackwards", .steps = 7, .batch = 1, .units = 50, .backwards = true},
    {.name = "Turning", .steps = 5, .batch = 1, .units = 192},
    {.name = "TurningBackwards", .steps = 6, .batch = 3, .units = 130, .backwards = true},
    {.name = "Units", .steps = 4, .batch = 2, .units = 1},
    {.name = "TwoThreads", .steps = 5, .batch = 4, .units = 192, .target = "native -num-threads=2"},
    {.name = "Avx2", .steps = 6, .batch = 4, .units = 40, .target = "llvm -mcpu=core-avx2"},
    {.name = "WeightOfTheCaller", .steps = 5, .batch = 2, .units = 24, .constant_weight = false},
    {.name = "Many", .steps = 3000, .batch = 2, .units = 8},
    {.name = "Bytes", .steps = 9, .batch = 1, .units = 64, .quantized = true},
    {.name = "OddBytes", .steps = 7, .batch = 5, .units = 13, .backwards = true, .quantized = true},
    {.name = "OneByte", .steps = 4, .batch = 1, .units = 1, .quantized = true},
    {.name = "ManyBytes", .steps = 60, .batch = 3, .units = 130, .quantized = true},
    {.name = "BytesOnTwoThreads",
     .steps = 5,
     .batch = 2,
     .units = 384,
     .target = "native -num-threads=2",
     .quantized = true},
    {.name = "BytesOfTheCaller",
     .steps = 5,
     .batch = 2,
     .units = 24,
     .constant_weight = false,
     .quantized = true},
    {.name = "BytesAvx2",
     .steps = 6,
     .batch = 4,
     .units = 42,
     .target = "llvm -mcpu=core-avx2",
     .quantized = true},
    {.name = "BytesBaseline",
     .steps = 6,
     .batch = 4,
     .units = 42,
     .target = "llvm -mcpu=x86-64",
     .quantized = true},
};
INSTANTIATE_TEST_SUITE_P(Loops, Steps, testing::ValuesIn(kStepsCases),
                         [](const auto& tested) { return tested.param.name; });

// One kernel for any number of steps; the comparison of the compiler includes its elements.
TEST(StepLoops, AreOneKernelOfOneLength) {
  std::vector<std::string> texts;
  for (const std::int64_t steps : {10, 1000}) {
    const StepsCase c{.name = "", .steps = steps, .batch = 2, .units = 16};
    const auto plan = MakeCheckedPlan(StepsGraph(c), StepsOptions(c));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ASSERT_EQ(plan->steps.size(), 1);
    texts.push_back(ToString(plan->kernels[0]));
  }
  EXPECT_EQ(std::ranges::count(texts[0], '\n'), std::ranges::count(texts[1], '\n'));
}

TEST(StepLoops, AreComparedWhenTheyAreCompiled) {
  for (const bool backwards : {false, true}) {
    // Several thousand steps are within the limit.
    const StepsCase c{.name = "", .steps = 20000, .batch = 1, .units = 32, .backwards = backwards};
    auto folder = ScopedTempDir::Create("tilewright-steps");
    ASSERT_TRUE(folder.ok());
    auto compiled = Compile(StepsGraph(c), StepsOptions(c), folder->path() + "/model.so");
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    EXPECT_EQ(compiled->check.compared, 1);
    EXPECT_TRUE(compiled->check.not_compared.empty());
  }
}

// Their weights have more elements than a compared element may otherwise depend on.
TEST(StepLoops, OfManyUnitsAreComparedWhenTheyAreCompiled) {
  const StepsCase c{.name = "", .steps = 5, .batch = 1, .units = 1456};
  auto folder = ScopedTempDir::Create("tilewright-steps");
  ASSERT_TRUE(folder.ok());
  auto compiled = Compile(StepsGraph(c), StepsOptions(c), folder->path() + "/model.so");
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(compiled->check.compared, 1);
  EXPECT_TRUE(compiled->check.not_compared.empty());
}

// After some dozens of steps no digit is correct; errors in the first steps are still detected.
TEST(StepLoops, OfChaosAreComparedAsFarAsTheyCanBe) {
  for (const bool backwards : {false, true}) {
    const StepsCase c{.name = "", .steps = 400, .batch = 1, .units = 64, .backwards = backwards};
    auto folder = ScopedTempDir::Create("tilewright-steps");
    ASSERT_TRUE(folder.ok());
    auto compiled = Compile(StepsGraph(c, 30), StepsOptions(c), folder->path() + "/model.so");
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    EXPECT_EQ(compiled->check.compared, 1);
  }
}

}  // namespace
}  // namespace tilewright
