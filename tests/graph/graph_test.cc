#include "src/graph/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/base/random.h"
#include "src/graph/ir/check_memory.h"
#include "src/graph/ir/describe.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/synthetic_data.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::ElementsAre;

TEST(Graph, KnowsItsUsers) {
  Graph graph;
  const int x = graph.AddInput("x", TensorType{{2}, kFloat32});
  const int y = *graph.AddOperator("y", Operator{OpKind::kAdd, {}}, {x, x});
  EXPECT_THAT(graph.Users()[0], ElementsAre(y, y));
  EXPECT_THAT(graph.inputs(), ElementsAre(x));
}

TEST(Graph, RefusesOperatorsWithTheValuesName) {
  Graph graph;
  graph.AddInput("x", TensorType{{2}, kFloat32});
  EXPECT_EQ(graph.AddOperator("y", Operator{OpKind::kRelu, {}}, {1}).status(),
            InvalidArgument("value y: input 1 is not an earlier node"));
  EXPECT_EQ(graph.AddOperator("y", Operator{OpKind::kAdd, {}}, {0}).status(),
            InvalidArgument("value y: add: 1 inputs, expected 2"));
}

TEST(Graph, FilledConstantsAppearWhenRead) {
  Graph graph;
  const int id = graph.AddFilledConstant("c", TensorType{{3}, kFloat32}, 0.5);
  EXPECT_TRUE(graph.HasContents(id));
  ASSERT_NE(graph.Fill(id), nullptr);
  EXPECT_THAT(ValuesOf(*graph.Contents(id)), ElementsAre(0.5, 0.5, 0.5));
  EXPECT_EQ(graph.Fill(id), nullptr);
  EXPECT_THAT(ValuesOf(graph.TakeContents(id)), ElementsAre(0.5, 0.5, 0.5));
  EXPECT_EQ(graph.Contents(id), nullptr);
}

TEST(Graph, CloneLeavesLargeContentsBehind) {
  Graph graph;
  graph.AddConstant("small", MakeRange(kFloat32, {2}));
  graph.AddConstant("large", MakeRange(kFloat32, {3}));
  graph.AddFilledConstant("filled", TensorType{{3}, kFloat32}, 1);
  const Graph clone = graph.CloneWithout(2);
  EXPECT_TRUE(clone.HasContents(0));
  EXPECT_FALSE(clone.HasContents(1));
  EXPECT_FALSE(clone.HasContents(2));
  EXPECT_EQ(clone.node(1).name, "large");
}

TEST(Graph, SourceNameDropsThePart) {
  EXPECT_EQ(SourceName("r0"), "r0");
  EXPECT_EQ(SourceName("r0#12"), "r0");
  EXPECT_EQ(SourceName("#1"), "#1");
}

TEST(SeedConstants, FollowsTheRulesOfTheOnnxData) {
  Graph graph;
  const int w = graph.AddConstant("conv10_w_0", TensorType{{10, 3, 2, 2}, kFloat32});
  const int b = graph.AddConstant("b", MakeRange(kFloat32, {4}));
  const int own = graph.AddConstant("b#0", MakeRange(kFloat32, {4}));
  SeedConstants(graph, SeedRule::kAllFloat);
  const double bound = std::sqrt(6.0 / 12);
  const double first[] = {14784998, 10936381, 9238669};  // expected values published with the data
  for (int i = 0; i < 3; ++i) {
    const double expected = (2 * (first[i] / 16777216) - 1) * bound;
    EXPECT_EQ(graph.Contents(w)->At(i), static_cast<float>(expected));
  }
  EXPECT_EQ(graph.Contents(b)->At(0),
            static_cast<float>(0.5 + SeededElement(Fnv1a64("b"), 0) / 16777216.0));
  EXPECT_EQ(graph.Contents(own)->At(1), 1);
  EXPECT_EQ(graph.synthetic_constants, 2);
}

TEST(SeedConstants, LeavesWhatHasNoElements) {
  Graph graph;
  graph.AddConstant("e", Tensor(TensorType{{0}, kFloat32}));
  SeedConstants(graph, SeedRule::kAllFloat);
  EXPECT_EQ(graph.synthetic_constants, 0);
}

TEST(SeedConstants, FollowsTheRulesOfTheRelayData) {
  Graph graph;
  const int w = graph.AddConstant("relay.Constant.0", TensorType{{64, 3, 7, 7}, kInt8});
  const int b = graph.AddConstant("relay.Constant.1", TensorType{{64, 1, 1}, kInt32});
  const int there = graph.AddConstant("c", MakeRange(kInt32, {2}, 5));
  SeedConstants(graph, SeedRule::kMissing);
  const int first[] = {14162697, 2798720, 2336069};  // expected values published with the data
  for (int i = 0; i < 3; ++i) EXPECT_EQ(graph.Contents(w)->At(i), first[i] % 43 - 21);
  EXPECT_LE(std::abs(graph.Contents(b)->At(7)), 1000);
  EXPECT_EQ(graph.Contents(there)->At(0), 5);
  EXPECT_EQ(graph.synthetic_constants, 2);
}

// A requantization as older texts spell it: with int64, and a vector for each parameter.
TEST(SeedConstants, GivesPartsOfARequantizationWhatTheyAreFor) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(1, 2, 5, 5, 8), float32]) {
  %0 = add(%x, 57f);
  %1 = clip(round(%0), a_min=0f, a_max=255f);
  %2 = cast(%1, dtype="uint8");
  %3 = subtract(cast(%2, dtype="int16"), meta[relay.Constant][0] /* ty=int16 */);
  %4 = nn.contrib_conv2d_NCHWc(%3, meta[relay.Constant][1] /* ty=Tensor[(3, 2, 1, 1, 8, 8), int16] */, channels=24, kernel_size=[1, 1], data_layout="NCHW8c", kernel_layout="OIHW8i8o", out_layout="NCHW8c", out_dtype="int32");
  %5 = multiply(cast(%4, dtype="int64"), meta[relay.Constant][2] /* ty=Tensor[(1, 3, 1, 1, 8), int64] */);
  %6 = add(%5, meta[relay.Constant][3] /* ty=Tensor[(1, 3, 1, 1, 8), int64] */);
  right_shift(%6, meta[relay.Constant][4] /* ty=Tensor[(1, 3, 1, 1, 8), int64] */)
})",
                           "net");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kAllFloat);
  EXPECT_EQ(graph->synthetic_constants, 5);
  const auto contents = [&](const std::string& name) {
    const auto node = std::ranges::find(graph->nodes(), name, &Node::name);
    return graph->Contents(static_cast<int>(node - graph->nodes().begin()));
  };
  const auto k = [](const std::string& name, std::uint64_t i) {
    return static_cast<double>(SeededElement(Fnv1a64(name), i));
  };
  EXPECT_EQ(contents("relay.Constant.0")->At(0), 57);
  for (std::int64_t i : {0, 100}) {  // sqrt(2^20 / 16) is more than 127
    const double element = k("relay.Constant.1", static_cast<std::uint64_t>(i));
    EXPECT_EQ(contents("relay.Constant.1")->At(i), std::fmod(element, 255) - 127);
  }
  EXPECT_EQ(contents("relay.Constant.2")->At(7), 0x1.0p30 + 64 * k("relay.Constant.2", 7));
  EXPECT_EQ(contents("relay.Constant.3")->At(3), 0x1.0p38);
  EXPECT_EQ(contents("relay.Constant.4")->At(3), 39);
}

TEST(SeedConstants, LargeOnesAreTheSameInPieces) {
  Graph graph;
  const int w = graph.AddConstant("large", TensorType{{1100, 1000}, kFloat32});
  SeedConstants(graph, SeedRule::kAllFloat);
  const double bound = std::sqrt(6.0 / 1000);
  const std::uint64_t seed = Fnv1a64("large");
  for (std::int64_t i = 0; i < 1100000; i += 997) {
    const double u = SeededElement(seed, static_cast<std::uint64_t>(i)) / 16777216.0;
    ASSERT_EQ(graph.Contents(w)->At(i), static_cast<float>((2 * u - 1) * bound));
  }
}

TEST(MakeSyntheticInput, FollowsItsRule) {
  const TensorType floats{{4}, kFloat32};
  EXPECT_THAT(ValuesOf(MakeSyntheticInput("x", floats, SyntheticInputRule::kRamp)),
              ElementsAre(0, 0.25, 0.5, 0.75));
  const Tensor quantized = MakeSyntheticInput("data", floats, SyntheticInputRule::kSeededQuantized);
  EXPECT_EQ(quantized.At(0),
            (9676663 % 255 - 127) / 16.0);  // expected value published with the data
  for (DataType dtype : {kInt8, kUInt8, kInt32, kFloat32}) {
    const Tensor random =
        MakeSyntheticInput("x", TensorType{{1000}, dtype}, SyntheticInputRule::kRandom);
    double low = 0, high = 0;
    for (double x : ValuesOf(random)) low = std::min(low, x), high = std::max(high, x);
    EXPECT_GT(high, dtype.is_float() ? 0.9 : 100);
    EXPECT_EQ(low < 0, dtype != kUInt8);
  }
}

// Files may claim any size: a graph that cannot run is rejected before memory is allocated.
TEST(CheckMemory, CountsWhatIsThereAllTheTimeAndTheLargestResult) {
  Graph graph;
  const TensorType type{{1000}, kFloat32};
  const int x = graph.AddInput("x", type);
  const int filled = graph.AddFilledConstant("filled", {{1 << 20, 1 << 20}, kFloat32}, 1);
  const int c = graph.AddConstant("c", type);
  const int folded = *graph.AddOperator("folded", Operator{OpKind::kAdd, {}}, {c, c});
  int last = x;
  for (const char* name : {"first", "second", "third"}) {
    last = *graph.AddOperator(name, Operator{OpKind::kAdd, {}}, {last, folded});
  }
  EXPECT_TRUE(CheckMemory(graph, 16000).ok());  // x, c, folded and one result
  EXPECT_EQ(CheckMemory(graph, 15999).message(),
            "the model with first, float32[1000], takes 0.0 GB of memory, there are 0.0 GB");
  EXPECT_EQ(CheckMemory(graph, 7999).code(), StatusCode::kUnsupported);
  ASSERT_TRUE(graph.AddOperator("wide", Operator{OpKind::kAdd, {}}, {filled, filled}).ok());
  EXPECT_FALSE(CheckMemory(graph, 16000).ok());
}

TEST(DescribeGraph, NamesOfAnyBytesArePrinted) {
  Graph graph;
  const int x = graph.AddInput("x\xff\"", TensorType{{2}, kFloat32});
  graph.SetOutputs({*graph.AddOperator("\xc3", Operator{OpKind::kRelu, {}}, {x})});
  EXPECT_TRUE(ParseJson(DescribeGraphJson(graph)).ok());
  EXPECT_TRUE(ParseJson(TasksToJson("\xfe", {}, [](const Workload&) { return ""; })).ok());
}

TEST(EvaluateGraph, NamesWhatIsMissing) {
  Graph graph;
  const int x = graph.AddInput("x", TensorType{{2}, kFloat32});
  const int c = graph.AddConstant("c", TensorType{{2}, kFloat32});
  graph.SetOutputs({*graph.AddOperator("y", Operator{OpKind::kAdd, {}}, {x, c})});
  std::vector<Tensor> inputs;
  EXPECT_EQ(EvaluateGraph(graph, inputs).status(), InvalidArgument("got 0 inputs, expected 1"));
  inputs.push_back(MakeRange(kFloat32, {3}));
  EXPECT_EQ(EvaluateGraph(graph, inputs).status(),
            InvalidArgument("input x is float32[3], expected float32[2]"));
  inputs[0] = MakeRange(kFloat32, {2});
  EXPECT_EQ(EvaluateGraph(graph, inputs).status(), InvalidArgument("constant c has no contents"));
  graph.SetContents(c, MakeRange(kFloat32, {2}, 10));
  auto outputs = EvaluateGraph(graph, inputs);
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(10, 12));
}

}  // namespace
}  // namespace tilewright
