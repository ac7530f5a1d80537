// The `accurate` rules: which values are rounded, which stay in float32, and the results.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/quantize/pipeline.h"
#include "tests/graph/quantize_test_graphs.h"

namespace tilewright::quantize {
namespace {

using testing::HasSubstr;

Config Accurate() {
  Config config = AllConvolutions();
  config.rules = kAccurateRules;
  return config;
}

Config Finest() {
  Config config = Accurate();
  config.calibrate_mode = CalibrateMode::kPercentile;
  config.weight_scale = WeightScale::kMax;
  config.per_channel = config.unsigned_inputs = true;
  return config;
}

Graph Seeded(const std::string& body) {
  Graph graph = GraphOf(body);
  SeedConstants(graph, SeedRule::kMissing);
  return graph;
}

std::string Annotated(const std::string& body, const Config& config = Accurate()) {
  PipelineOptions options{config, {"partition", "annotate"}, {}, 1, {}};
  std::vector<IntegerValue> values;
  auto graph = RunPasses(Seeded(body), options, &values);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? Outline(*graph) : "";
}

struct Quantized {
  Graph graph;
  std::vector<FloatLayer> left;
  double sqnr = 0;
};

/// Runs all passes; each reads the text that the previous one was written as.
Quantized QuantizeByTexts(const std::string& body, const Config& config) {
  Quantized result{Seeded(body), {}, 0};
  const Graph reference = Seeded(body);
  for (const std::string& pass : DefaultPasses(config)) {
    PipelineOptions options{config, {pass}, SyntheticSamples(reference), 1, {}};
    if (pass == "annotate") options.left = &result.left;
    std::vector<IntegerValue> values;
    auto next = RunPasses(std::move(result.graph), options, &values);
    EXPECT_TRUE(next.ok()) << next.status().message();
    auto text = ExportRelay(*next);
    EXPECT_TRUE(text.ok()) << text.status().message();
    auto read = ImportRelay(*text, "g");
    EXPECT_TRUE(read.ok()) << read.status().message();
    result.graph = *std::move(read);
  }
  result.sqnr = Sqnr(result.graph, reference);
  return result;
}

std::int64_t Products(const Graph& graph, bool integers) {
  return std::ranges::count_if(graph.nodes(), [&](const Node& node) {
    return node.kind == NodeKind::kOperator && IsAnchor(node.op.kind) &&
           node.type.dtype.is_integer() == integers;
  });
}

/// Squeeze and excitation: every channel is multiplied by a gate computed from its average.
std::string Gated(const std::string& gate) {
  return "%0 = " + Conv("%x", 0) +
         "; %1 = nn.relu(%0); %2 = nn.global_avg_pool2d(%1); %3 = " + Conv("%2", 1) +
         "; %4 = add(%3, " + Bias(2) + "); %5 = nn.relu(%4); %6 = " + Conv("%5", 3) +
         "; %7 = " + gate + "; %8 = multiply(%1, %7); " + Conv("%8", 4);
}

TEST(QuantizeAccurateTest, GoesThroughSqueezeAndExcitation) {
  for (const char* gate : {"sigmoid(%6)", "tilewright.hard_sigmoid(%6, alpha=0.2f, beta=0.5f)",
                           "clip(%6, a_min=0f, a_max=1f)"}) {
    const Quantized accurate = QuantizeByTexts(Gated(gate), Finest());
    EXPECT_EQ(Products(accurate.graph, true), 4) << gate;
    EXPECT_THAT(accurate.left, testing::IsEmpty()) << gate;
    EXPECT_GT(accurate.sqnr, 30) << gate;
  }
}

TEST(QuantizeAccurateTest, TvmsRulesEndAtAGlobalPoolAndSaySo) {
  const Quantized tvm = QuantizeByTexts(Gated("sigmoid(%6)"), AllConvolutions());
  EXPECT_EQ(Products(tvm.graph, false), 3);
  ASSERT_EQ(tvm.left.size(), 3U);
  for (const FloatLayer& layer : tvm.left) EXPECT_THAT(layer.reason, HasSubstr("global_avg_pool"));
}

TEST(QuantizeAccurateTest, NamesWhatStaysFloat) {
  Config config = Accurate();
  config.skip_conv_layers = {1};
  const Quantized quantized =
      QuantizeByTexts("%0 = " + Conv("%x", 0) + "; %1 = " + Conv("%0", 1) +
                          "; %2 = nn.batch_flatten(%1); nn.dense(%2, meta[relay.Constant][2] "
                          "/* ty=Tensor[(3, 64), float32] */, units=3)",
                      config);
  ASSERT_EQ(quantized.left.size(), 2U);
  EXPECT_EQ(quantized.left[0].reason, "skip_conv_layers has 1");
  EXPECT_EQ(quantized.left[1].reason, "skip_dense_layer");
}

TEST(QuantizeAccurateTest, LayersThatAreNamedStayFloat) {
  Config config = Accurate();
  ASSERT_TRUE(config.Set("float_layers", "[\"%1\"]").ok());
  const Quantized quantized = QuantizeByTexts(
      "%0 = " + Conv("%x", 0) + "; %1 = " + Conv("%0", 1) + "; " + Conv("%1", 2), config);
  ASSERT_EQ(quantized.left.size(), 1U);
  EXPECT_EQ(quantized.left[0].name, "%1");
  EXPECT_EQ(quantized.left[0].reason, "float_layers has it");
  EXPECT_EQ(Products(quantized.graph, false), 1);
  EXPECT_EQ(Products(quantized.graph, true), 2);
}

// Ranges that are known are taken, and those that are not are measured and kept.
TEST(QuantizeAccurateTest, RangesAreMeasuredOnce) {
  const std::string body = "%0 = " + Conv("%x", 0) + "; " + Conv("%0", 1);
  const Graph reference = Seeded(body);
  RangeMap ranges;
  PipelineOptions options{Finest(), {"annotate", "calibrate"}, SyntheticSamples(reference), 1, {}};
  options.ranges = &ranges;
  std::vector<IntegerValue> values;
  const auto measured = RunPasses(Seeded(body), options, &values);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_EQ(ranges.size(), 2U);
  options.samples.clear();
  const auto known = RunPasses(Seeded(body), options, &values);
  ASSERT_TRUE(known.ok()) << known.status().message();
  EXPECT_EQ(Outline(*known), Outline(*measured));
  ranges.clear();
  EXPECT_FALSE(RunPasses(Seeded(body), options, &values).ok());
}

// x * sigmoid(x) is computed from the sums: it is rounded once, not three times.
TEST(QuantizeAccurateTest, AnExpressionIsRoundedOnce) {
  const std::string body =
      "%0 = " + Conv("%x", 0) + "; %1 = sigmoid(%0); %2 = multiply(%0, %1); " + Conv("%2", 1);
  EXPECT_EQ(Annotated(body),
            "0 = simulated_quantize(x, \"input\"); 1 = simulated_quantize(c0, \"weight\"); "
            "2 = conv2d(0, 1); 3 = sigmoid(2); 4 = multiply(2, 3); "
            "5 = simulated_quantize(4, \"input\"); 6 = simulated_quantize(c1, \"weight\"); "
            "conv2d(5, 6)");
  EXPECT_GT(QuantizeByTexts(body, Finest()).sqnr, 35);
}

// In a residual addition, only the side that is stored anyway is rounded.
TEST(QuantizeAccurateTest, AResidualIsRoundedOnOneSide) {
  const std::string body = "%0 = " + Conv("%x", 0) + "; %1 = " + Conv("%0", 1) +
                           "; %2 = add(%1, %0); %3 = nn.relu(%2); " + Conv("%3", 2);
  EXPECT_EQ(Annotated(body),
            "0 = simulated_quantize(x, \"input\"); 1 = simulated_quantize(c0, \"weight\"); "
            "2 = conv2d(0, 1); 3 = simulated_quantize(2, \"input\"); "
            "4 = simulated_quantize(c1, \"weight\"); 5 = conv2d(3, 4); 6 = add(5, 3); 7 = relu(6); "
            "8 = simulated_quantize(7, \"input\"); 9 = simulated_quantize(c2, \"weight\"); "
            "conv2d(8, 9)");
  EXPECT_GT(QuantizeByTexts(body, Finest()).sqnr, 25);
}

// A value that no product reads is not rounded: an output keeps the precision of its sums.
TEST(QuantizeAccurateTest, OutputsAreNotRounded) {
  EXPECT_EQ(Annotated("%0 = " + Conv("%x", 0) + "; nn.relu(%0)"),
            "0 = simulated_quantize(x, \"input\"); 1 = simulated_quantize(c0, \"weight\"); "
            "2 = conv2d(0, 1); relu(2)");
}

TEST(QuantizeAccurateTest, WhatCannotBeNegativeIsUnsigned) {
  const std::string body = "%0 = " + Conv("%x", 0) + "; %1 = nn.relu(%0); %2 = " + Conv("%1", 1) +
                           "; %3 = nn.leaky_relu(%2, alpha=0.1f); " + Conv("%3", 2);
  const Quantized quantized = QuantizeByTexts(body, Finest());
  std::vector<DataType> data;
  for (const Node& node : quantized.graph.nodes()) {
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kConv2d) continue;
    data.push_back(quantized.graph.node(node.inputs[0]).type.dtype);
  }
  EXPECT_EQ(data, (std::vector<DataType>{kInt8, kUInt8, kInt8}));
  EXPECT_GT(quantized.sqnr, 35);
}

// Bounds of clips to unsigned types are limited to the range of the type.
TEST(QuantizeAccurateTest, BoundsBelowZeroStayInTheType) {
  const Quantized quantized =
      QuantizeByTexts("%0 = " + Conv("%x", 0) +
                          "; %1 = nn.relu(%0); %2 = nn.max_pool2d(%1, pool_size=[2, 2]); "
                          "%3 = clip(%2, a_min=-1f, a_max=1f); " +
                          Conv("%3", 1),
                      Finest());
  for (const Node& node : quantized.graph.nodes()) {
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kClip) continue;
    if (node.type.dtype != kUInt8) continue;
    EXPECT_GE(node.op.attributes.a_min, 0);
  }
  EXPECT_GT(quantized.sqnr, 30);
}

// The product of two sums would exceed int32, so it is computed in floats.
TEST(QuantizeAccurateTest, ProductsOfSumsDoNotWrapAround) {
  const Quantized quantized = QuantizeByTexts(
      "%0 = " + Conv("%x", 0) + "; %1 = nn.relu(%0); %2 = multiply(%0, %1); " + Conv("%2", 1),
      Finest());
  EXPECT_GT(quantized.sqnr, 30);
}

TEST(QuantizeAccurateTest, JoinsInTheStepsOfTheWhole) {
  const Quantized quantized = QuantizeByTexts(
      "%0 = " + Conv("%x", 0) + "; %1 = " + Conv("%x", 1) + "; %2 = " + Conv("%x", 2) +
          "; %3 = concatenate((%0, %1, %2), axis=1); "
          "nn.conv2d(%3, meta[relay.Constant][3] /* ty=Tensor[(4, 12, 1, 1), float32] */, "
          "padding=[0, 0, 0, 0], channels=4, kernel_size=[1, 1])",
      Finest());
  const auto concat = std::ranges::find(quantized.graph.nodes(), OpKind::kConcat,
                                        [](const Node& node) { return node.op.kind; });
  ASSERT_NE(concat, quantized.graph.nodes().end());
  EXPECT_EQ(concat->type.dtype, kInt8);
  EXPECT_GT(quantized.sqnr, 30);
}

TEST(QuantizeAccurateTest, UnsignedNeedsTheRulesAndEightBits) {
  Config config;
  ASSERT_TRUE(config.Set("unsigned", "true").ok());
  EXPECT_TRUE(config.Check().ok());
  config.rules = kLatestTvmRules;
  EXPECT_THAT(config.Check().message(), HasSubstr("rules accurate"));
}

}  // namespace
}  // namespace tilewright::quantize
