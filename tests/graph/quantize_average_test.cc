// Averages of integers: the sum of a window is kept, and the scale contains the division by the
// number of its elements. TVM's rules truncate the quotient to whole steps of the input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/graph/quantize/pipeline.h"
#include "tests/graph/quantize_test_graphs.h"

namespace tilewright::quantize {
namespace {

constexpr double kStep = 1.0 / 16;

struct AverageCase {
  const char* name;
  std::int64_t size;  // of the image, in both dimensions
  std::string pool;
  double within = 1e-5;  // in steps; exact except for windows at an edge that exclude padding
};

/// Returns the quantized network of one pool on data of 1/16 per step.
Graph Averaged(const AverageCase& tested, RuleDate rules) {
  auto graph = ImportRelay(
      fmt::format("def @main(%x: Tensor[(1, 3, {0}, {0}), float32]) {{\n"
                  "%0 = tilewright.simulated_quantize(%x, kind=\"input\", scale=[0.0625]);\n"
                  "nn.{1}\n}}\n",
                  tested.size, tested.pool),
      "pool");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  PipelineOptions options;
  options.config.rules = rules;
  options.passes = {"realize"};
  std::vector<IntegerValue> values;
  auto result = RunPasses(*std::move(graph), options, &values);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *std::move(result);
}

/// The same pool on floats that are multiples of a step.
Graph Expected(const AverageCase& tested) {
  auto graph = ImportRelay(fmt::format("def @main(%x: Tensor[(1, 3, {0}, {0}), float32]) {{\n"
                                       "%0 = nn.relu(%x); nn.{1}\n}}\n",
                                       tested.size, tested.pool),
                           "pool");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

/// Returns the largest difference from the average, in steps.
double LargestError(const AverageCase& tested, RuleDate rules) {
  const Graph quantized = Averaged(tested, rules), expected = Expected(tested);
  Sample sample;
  sample.emplace_back(quantized.node(quantized.inputs()[0]).type);
  Tensor& data = sample[0];
  for (std::int64_t i = 0; i < data.elements(); ++i) {
    data.Set(i, static_cast<double>(i * 7919 % 128) * kStep);  // 0 to 127 steps
  }
  auto actual = EvaluateGraph(quantized, sample);
  auto wanted = EvaluateGraph(expected, sample);
  EXPECT_TRUE(actual.ok() && wanted.ok());
  double largest = 0;
  for (std::int64_t i = 0; i < (*wanted)[0].elements(); ++i) {
    largest = std::max(largest, std::abs((*actual)[0].At(i) - (*wanted)[0].At(i)) / kStep);
  }
  return largest;
}

class QuantizeAverageTest : public testing::TestWithParam<AverageCase> {};

TEST_P(QuantizeAverageTest, KeepsTheSum) {
  EXPECT_LT(LargestError(GetParam(), kAccurateRules), GetParam().within);
}

TEST_P(QuantizeAverageTest, TruncatesByTheRulesOfTvm) {
  EXPECT_GT(LargestError(GetParam(), kLatestTvmRules), 0.2);
}

INSTANTIATE_TEST_SUITE_P(
    Pools, QuantizeAverageTest,
    testing::Values(
        AverageCase{"Global", 7, "global_avg_pool2d(%0)"},
        // Sums of 9216 elements in steps of 1/9216 would exceed int32, so steps are 1/1834.
        AverageCase{"LargeGlobal", 96, "global_avg_pool2d(%0)", 2e-3},
        AverageCase{"Window", 8, "avg_pool2d(%0, pool_size=[3, 3], padding=[0, 0, 0, 0])"},
        AverageCase{"PaddingCounts", 8,
                    "avg_pool2d(%0, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1], "
                    "count_include_pad=True)"},
        AverageCase{"PaddingDoesNotCount", 8,
                    "avg_pool2d(%0, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])", 0.12},
        AverageCase{"Ceil", 8,
                    "avg_pool2d(%0, pool_size=[3, 3], strides=[2, 2], padding=[0, 0, 0, 0], "
                    "ceil_mode=True)",
                    0.12}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tilewright::quantize
