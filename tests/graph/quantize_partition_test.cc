#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/graph/quantize/passes.h"
#include "tests/graph/quantize_test_graphs.h"
#include "tests/graph/shared_data.h"

namespace tilewright::quantize {
namespace {

using testing::HasSubstr;

struct RuleCase {
  const char* name;
  std::string body;
  std::string outline;
};

class PartitionRuleTest : public testing::TestWithParam<RuleCase> {};

TEST_P(PartitionRuleTest, GivesTheOutline) {
  auto graph = Partition(GraphOf(GetParam().body), TvmRules());
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(Outline(*graph), GetParam().outline);
}

std::vector<RuleCase> RuleCases() {
  const std::string conv = "%0 = " + Conv("%x", 0) + ";\n";
  const std::string two = conv + "%1 = " + Conv("%x", 1) + ";\n";
  return {
      {"ConvolutionClosesItsData", conv + Conv("%0", 1),
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = stop_fusion(1); 3 = conv2d(2, c1); "
       "4 = cast_hint(3); stop_fusion(4)"},
      {"IdentitiesPassThrough",
       conv + "%1 = nn.relu(%0); %2 = clip(%1, a_min=0f, a_max=6f); "
              "nn.max_pool2d(%2, pool_size=[1, 1], padding=[0, 0, 0, 0])",
       "0 = conv2d(x, c0); 1 = relu(0); 2 = clip(1); 3 = max_pool2d(2); 4 = cast_hint(3); "
       "stop_fusion(4)"},
      {"IdentitiesOfPlainValuesDecline", "%0 = nn.relu(%x); " + Conv("%0", 0),
       "0 = relu(x); 1 = conv2d(0, c0); 2 = cast_hint(1); stop_fusion(2)"},
      {"SumOfOpenValuesClosesBoth", two + "add(%0, %1)",
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = conv2d(x, c1); 3 = cast_hint(2); "
       "4 = stop_fusion(1); 5 = stop_fusion(3); 6 = add(4, 5); 7 = cast_hint(6); stop_fusion(7)"},
      {"SumWithAConstantStaysOpen", conv + "%1 = add(%0, " + Bias(1) + "); " + Conv("%1", 2),
       "0 = conv2d(x, c0); 1 = add(0, c1); 2 = cast_hint(1); 3 = stop_fusion(2); "
       "4 = conv2d(3, c2); 5 = cast_hint(4); stop_fusion(5)"},
      {"SumWithAPlainValueIsNotOpen", conv + "add(%0, %x)",
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = stop_fusion(1); add(2, x)"},
      {"SumOfWhichOnlyTheRightIsOpen", conv + "add(%x, %0)",
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = stop_fusion(1); add(x, 2)"},
      {"SumOfPlainValues", "add(%x, %x)", "add(x, x)"},
      {"ConstantOnTheLeftIsNotOpen", conv + "add(" + Bias(1) + ", %0)",
       "0 = conv2d(x, c1); 1 = cast_hint(0); 2 = stop_fusion(1); add(c0, 2)"},
      {"ProductClosesTheLeft", conv + "multiply(%0, " + Bias(1) + ")",
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = stop_fusion(1); 3 = multiply(2, c1); "
       "4 = cast_hint(3); stop_fusion(4)"},
      {"ProductClosesTheRightAlone", conv + "multiply(%x, %0)",
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = stop_fusion(1); 3 = multiply(x, 2); "
       "4 = cast_hint(3); stop_fusion(4)"},
      {"ProductOfPlainValues", "multiply(%x, %x)", "multiply(x, x)"},
      {"GlobalPoolClosesAnOpenValue", conv + "nn.global_avg_pool2d(%0)",
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = stop_fusion(1); global_avg_pool2d(2)"},
      {"GlobalPoolClosesAPlainValue", "nn.global_avg_pool2d(%x)",
       "0 = cast_hint(x); 1 = stop_fusion(0); global_avg_pool2d(1)"},
      {"RulesCloseAValueForEachUser",
       conv + "%1 = " + Conv("%0", 1) + "; %2 = " + Conv("%0", 2) + "; add(%1, %2)",
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = stop_fusion(1); 3 = conv2d(2, c1); "
       "4 = cast_hint(3); 5 = cast_hint(0); 6 = stop_fusion(5); 7 = conv2d(6, c2); "
       "8 = cast_hint(7); 9 = stop_fusion(4); 10 = stop_fusion(8); 11 = add(9, 10); "
       "12 = cast_hint(11); stop_fusion(12)"},
      {"TheFallbackClosesAValueOnce", conv + "%1 = sigmoid(%0); %2 = tanh(%0); maximum(%1, %2)",
       "0 = conv2d(x, c0); 1 = cast_hint(0); 2 = stop_fusion(1); 3 = sigmoid(2); 4 = tanh(2); "
       "maximum(3, 4)"},
  };
}

INSTANTIATE_TEST_SUITE_P(Rules, PartitionRuleTest, testing::ValuesIn(RuleCases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(PartitionTest, RulesBefore2023RefuseAProductWhoseRightAloneIsOpen) {
  Config config = TvmRules();
  config.rules = 202302;
  auto graph = Partition(GraphOf("%0 = " + Conv("%x", 0) + "; multiply(%x, %0)"), config);
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), HasSubstr("rules of 2023-03 or later"));
}

TEST(PartitionTest, RulesBeforeOctober2021LoseSourceNames) {
  Config config = TvmRules();
  const std::string body = "nn.relu(%x) /* net/relu */ /* ty=Tensor[(1, 4, 4, 4), float32] */";
  auto kept = PrintRelay(*Partition(GraphOf(body), config));
  EXPECT_THAT(*kept, HasSubstr("/* net/relu */"));
  config.rules = 202109;
  auto lost = PrintRelay(*Partition(GraphOf(body), config));
  EXPECT_THAT(*lost, Not(HasSubstr("/* net/relu */")));
}

TEST(PartitionTest, OutputsKeepTheirNames) {
  Graph before = GraphOf(Conv("%x", 0));
  const std::string name = before.node(before.outputs()[0]).name;
  auto graph = Partition(std::move(before), TvmRules());
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->node(graph->outputs()[0]).name, name);
}

TEST(PartitionTest, RefusesAKernelThatIsComputed) {
  auto graph = Partition(
      GraphOf("%0 = " + Conv("%x", 0) + "; nn.conv2d(%x, %0, padding=[0, 0, 0, 0])"), TvmRules());
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), HasSubstr("expected a constant"));
}

TEST(PartitionTest, Resnet50ByteForByte) {
  const std::string before = SharedData("relay/resnet50_nhwc_before_partition.relay");
  const std::string after = SharedData("relay/resnet50_nhwc_after_partition.relay");
  TW_NEEDS_FILE(before);
  TW_NEEDS_FILE(after);
  auto graph = LoadGraph(before);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(*PrintRelay(*graph), *ReadFile(before));
  auto partitioned = Partition(*std::move(graph), TvmRules());
  ASSERT_TRUE(partitioned.ok()) << partitioned.status().message();
  EXPECT_EQ(*PrintRelay(*partitioned), *ReadFile(after));
}

}  // namespace
}  // namespace tilewright::quantize
