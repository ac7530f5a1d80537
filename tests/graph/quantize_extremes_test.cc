// Networks with extreme ratios of scales: values that would exceed int32 do not wrap around.
// Examples are a constant added to a channel of tiny weights, sums added to a small constant, and
// the sides of a concatenation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/graph/quantize/best_mode.h"
#include "src/graph/quantize/pipeline.h"
#include "tests/graph/quantize_test_graphs.h"

namespace tilewright::quantize {
namespace {

using ExtremeFields = std::vector<std::pair<std::string, std::string>>;

struct ExtremeCase {
  const char* name;
  std::string body;
  /// Factors of constants by index: `factors` multiplies every element, `dead` only the first
  /// channel.
  std::vector<std::pair<int, double>> factors = {}, dead = {};
  double input = 1;  ///< factor of the input
  ExtremeFields fields = {};
  std::vector<std::string> passes = {};  ///< empty: all
};

/// Without the partition pass, the end of the network is quantized too.
std::vector<std::string> Unpartitioned() { return {"fold", "annotate", "calibrate", "realize"}; }

void MultiplyFirst(Tensor& tensor, double factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) tensor.Set(i, tensor.At(i) * factor);
}

Graph NetworkOf(const ExtremeCase& tested) {
  Graph graph = GraphOf(tested.body);
  SeedConstants(graph, SeedRule::kMissing);
  for (int id = 0; id < graph.size(); ++id) {
    const auto change = [&](const std::vector<std::pair<int, double>>& factors, bool channel) {
      for (const auto& [index, factor] : factors) {
        if (graph.node(id).name != fmt::format("relay.Constant.{}", index)) continue;
        Tensor contents = graph.Contents(id)->Clone();
        const std::int64_t size = contents.elements() / (channel ? contents.shape()[0] : 1);
        MultiplyFirst(contents, factor, size);
        graph.SetContents(id, std::move(contents));
      }
    };
    change(tested.factors, false);
    change(tested.dead, true);
  }
  return graph;
}

Sample InputOf(const Graph& graph, const ExtremeCase& tested, int seed) {
  Sample sample = SyntheticSample(graph, seed);
  MultiplyFirst(sample[0], tested.input, sample[0].elements());
  return sample;
}

std::vector<std::string> PassesOf(const ExtremeCase& tested, const Config& config) {
  return tested.passes.empty() ? DefaultPasses(config) : tested.passes;
}

double SqnrOf(const ExtremeCase& tested, const Config& config) {
  const Graph reference = NetworkOf(tested);
  PipelineOptions options{config, PassesOf(tested, config), {}, 1, {}};
  for (int i = 0; i < 4; ++i) options.samples.push_back(InputOf(reference, tested, i));
  std::vector<IntegerValue> values;
  auto quantized = RunPasses(NetworkOf(tested), options, &values);
  EXPECT_TRUE(quantized.ok()) << quantized.status().message();
  if (!quantized.ok()) return 0;
  auto text = ExportRelay(*quantized);
  EXPECT_TRUE(text.ok()) << text.status().message();
  auto read = ImportRelay(*text, "g");
  EXPECT_TRUE(read.ok()) << read.status().message();
  return Sqnr(*read, reference, [&](int i) { return InputOf(reference, tested, 100 + i); });
}

/// TVM's rules, Tilewright's rules, and those with uint8.
std::vector<Config> EveryRules() {
  std::vector<Config> configs(3, AllConvolutions());
  configs[1].rules = configs[2].rules = kAccurateRules;
  configs[2].unsigned_inputs = true;
  return configs;
}

class QuantizeExtremesTest : public testing::TestWithParam<ExtremeCase> {};

TEST_P(QuantizeExtremesTest, StaysNearTheFloatNetwork) {
  for (const char* weight_scale : {"power2", "max"}) {
    for (const char* per_channel : {"False", "True"}) {
      for (const char* rounding : {"UPWARD", "TONEAREST"}) {
        ExtremeFields fields = {{"calibrate_mode", "percentile"},
                                {"weight_scale", weight_scale},
                                {"per_channel", per_channel},
                                {"rounding", rounding}};
        std::ranges::copy(GetParam().fields, std::back_inserter(fields));
        for (Config& config : EveryRules()) {
          for (const auto& [field, value] : fields) ASSERT_TRUE(config.Set(field, value).ok());
          EXPECT_GT(SqnrOf(GetParam(), config), 28)
              << weight_scale << per_channel << rounding << config.rules << config.unsigned_inputs;
        }
      }
    }
  }
}

const std::string& BiasBehindRelu() {
  static const std::string body = "%0 = " + Conv("%x", 0) + "; %1 = nn.relu(%0); %2 = add(%1, " +
                                  Bias(2) + "); " + Conv("%2", 1);
  return body;
}
std::string TwoLayers() {
  return "%0 = " + Conv("%x", 0) + "; %1 = add(%0, " + Bias(2) + "); %2 = nn.relu(%1); " +
         Conv("%2", 1);
}
/// Joins a layer with others.
std::string Joined(const std::string& others) {
  return "%0 = " + Conv("%x", 0) + "; %1 = nn.relu(%0); %2 = " + Conv("%x", 2) +
         "; %3 = nn.relu(%2); %4 = concatenate((" + others + "), axis=1); " +
         "%5 = nn.avg_pool2d(%4, pool_size=[2, 2], padding=[0, 0, 0, 0]); nn.relu(%5)";
}

INSTANTIATE_TEST_SUITE_P(
    Constants, QuantizeExtremesTest,
    testing::Values(ExtremeCase{"BesideADeadChannel", BiasBehindRelu(), {}, {{0, 1e-8}}},
                    ExtremeCase{"BesideDeadWeights", BiasBehindRelu(), {{0, 1e-8}}, {}},
                    ExtremeCase{"OfNextToNothing", BiasBehindRelu(), {{2, 1e-8}}, {}},
                    ExtremeCase{"AsABiasBesideDeadWeights", TwoLayers(), {{0, 1e-12}}, {}},
                    ExtremeCase{"AsABiasOfNextToNothing", TwoLayers(), {{2, 1e-9}}, {}},
                    ExtremeCase{"AsALargeBias", TwoLayers(), {{2, 1e6}}, {}},
                    ExtremeCase{"BesideLargeWeights", TwoLayers(), {{0, 1e9}}, {}},
                    ExtremeCase{"BesideSmallData", TwoLayers(), {}, {}, 1e-6}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Concatenations, QuantizeExtremesTest,
    testing::Values(ExtremeCase{"OfASmallSide", Joined("%1, %3"), {{2, 1e-9}}, {}},
                    ExtremeCase{"OfSmallData", Joined("%1, %x"), {}, {}, 0.01},
                    ExtremeCase{"OfThreeWithLargeData", Joined("%1, %3, %x"), {}, {}, 20},
                    ExtremeCase{"OfThreeWithLargeLayers", Joined("%1, %3, %x"), {{2, 1e3}}, {}},
                    ExtremeCase{.name = "OfThreeWithASmallChannel",
                                .body = "%0 = " + Conv("%x", 0) + "; %1 = " + Conv("%x", 1) +
                                        "; %2 = " + Conv("%x", 2) +
                                        "; concatenate((%0, %1, %2), axis=1)",
                                .factors = {{0, 100}, {1, 100}, {2, 100}},
                                .dead = {{0, 1e-5}, {1, 1e-5}, {2, 1e-5}},
                                .passes = Unpartitioned()}),
    [](const auto& tested) { return tested.param.name; });

// If a value is at the limit of its type, no half is added before the shift.
TEST(QuantizeExtremes, WhatSaturatesDoesNotWrapAround) {
  const ExtremeCase tested{
      "", "%0 = " + Conv("%x", 0) + "; %1 = " + Conv("%x", 1) +
              "; %2 = concatenate((%0, %1, %x), axis=1); nn.max_pool2d(%2, pool_size=[2, 2])"};
  const Config config = AllConvolutions();
  PipelineOptions options{config, DefaultPasses(config), {}, 1, {}};
  std::vector<IntegerValue> values;
  auto quantized = RunPasses(NetworkOf(tested), options, &values);
  ASSERT_TRUE(quantized.ok()) << quantized.status().message();
  Sample input = InputOf(*quantized, tested, 1);
  std::ranges::fill(input[0].As<float>(), 40.0F);  // for a range of 8
  const auto results = EvaluateGraph(*quantized, input);
  ASSERT_TRUE(results.ok()) << results.status().message();
  const auto elements = (*results)[0].As<float>();
  for (float element : elements.subspan(elements.size() / 3 * 2)) EXPECT_GT(element, 7);
}

/// Expects bounds of integers to be within the range of their types.
void ExpectBoundsWithinTypes(const Graph& graph) {
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kClip) continue;
    if (!node.type.dtype.is_integer()) continue;
    const double end = std::ldexp(1.0, node.type.dtype.bits - 1);
    EXPECT_GE(node.op.attributes.a_min, -end) << node.name;
    EXPECT_LT(node.op.attributes.a_min, end) << node.name;
    EXPECT_LT(node.op.attributes.a_max, end) << node.name;
  }
}

/// Expects all elements of the result to equal one number, with and without scales per channel.
void ExpectEverywhere(float expected, const ExtremeCase& tested) {
  for (const char* per_channel : {"False", "True"}) {
    Config config = AllConvolutions();
    ASSERT_TRUE(config.Set("per_channel", per_channel).ok());
    PipelineOptions options{config, PassesOf(tested, config), {}, 1, {}};
    std::vector<IntegerValue> values;
    auto quantized = RunPasses(NetworkOf(tested), options, &values);
    ASSERT_TRUE(quantized.ok()) << quantized.status().message();
    ExpectBoundsWithinTypes(*quantized);
    const auto results = EvaluateGraph(*quantized, InputOf(*quantized, tested, 1));
    ASSERT_TRUE(results.ok()) << results.status().message();
    EXPECT_THAT((*results)[0].As<float>(),
                testing::Each(testing::FloatNear(expected, expected * 1e-5F)))
        << per_channel << "\n"
        << Outline(*quantized);
  }
}

// No multiple of the step 1/1024 is between the bounds.
TEST(QuantizeExtremes, NarrowBoundsAreTheNearestStep) {
  ExpectEverywhere(6, {"", "%0 = " + Conv("%x", 0) + "; clip(%0, a_min=6.0002f, a_max=6.0004f)"});
}

// In steps of 1/16, the lower bound is 144.
TEST(QuantizeExtremes, BoundsBeyondTheTypeAreItsLargestNumber) {
  ExpectEverywhere(127 / 16.0F, {"", "%0 = " + Conv("%x", 0) +
                                         "; %1 = nn.max_pool2d(%0, pool_size=[2, 2]); "
                                         "clip(%1, a_min=9f, a_max=12f)"});
}

// Four times a clipped value exceeds int32; four times a result of the convolution does not.
TEST(QuantizeExtremes, BoundsBeyondAllValuesDoNotWrapAround) {
  ExpectEverywhere(1e6F, {.name = "",
                          .body = "%0 = " + Conv("%x", 0) +
                                  "; %1 = clip(%0, a_min=1000000f, a_max=2000000f); "
                                  "nn.avg_pool2d(%1, pool_size=[2, 2])",
                          .passes = Unpartitioned()});
}

// By the rules before August 2023 there is no annotation between a sum of two inputs and its
// conversion to int8.
TEST(QuantizeExtremes, SumsOfInputsSaturate) {
  const std::string sum = "%0 = " + Conv("%x", 0) + "; %1 = add(%0, %0); " + Conv("%1", 1);
  Graph graph = NetworkOf(ExtremeCase{"", sum, {{0, 10}}, {}});
  Config config = AllConvolutions();
  ASSERT_TRUE(config.Set("rules", "2021-10").ok());
  PipelineOptions options{config, DefaultPasses(config), {}, 1, {}};
  std::vector<IntegerValue> values;
  auto quantized = RunPasses(std::move(graph), options, &values);
  ASSERT_TRUE(quantized.ok()) << quantized.status().message();
  Sample ones = SyntheticSample(*quantized, 1);
  std::ranges::fill(ones[0].As<float>(), 7.5F);
  const auto results = EvaluateGraph(*quantized, ones, KeepValues::kAll);
  ASSERT_TRUE(results.ok()) << results.status().message();
  for (int id = 0; id < quantized->size(); ++id) {
    const Node& node = quantized->node(id);
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kCast) continue;
    if (quantized->node(node.inputs[0]).kind != NodeKind::kOperator) continue;
    const Tensor &from = (*results)[static_cast<std::size_t>(node.inputs[0])],
                 &to = (*results)[static_cast<std::size_t>(id)];
    for (std::int64_t i = 0; i < to.elements(); ++i) {
      EXPECT_EQ(to.At(i), from.At(i)) << node.name;
    }
  }
}

// kl_divergence prefers a window that ends at the smallest of a few values far from 0.
TEST(QuantizeExtremes, NamesARangeThatLosesAValue) {
  const ExtremeCase tested{"", TwoLayers(), {{0, 0}}};
  for (const char* mode : {"kl_divergence", "percentile"}) {
    Config config = AllConvolutions();
    ASSERT_TRUE(config.Set("calibrate_mode", mode).ok());
    PipelineOptions options{
        config, DefaultPasses(config), SyntheticSamples(NetworkOf(tested)), 1, {}};
    std::vector<IntegerValue> values;
    auto quantized = RunPasses(NetworkOf(tested), options, &values);
    ASSERT_TRUE(quantized.ok()) << quantized.status().message();
    if (config.calibrate_mode == CalibrateMode::kPercentile) {
      EXPECT_THAT(quantized->notes, testing::IsEmpty());
    } else {
      EXPECT_THAT(
          quantized->notes,
          testing::ElementsAre(testing::HasSubstr("value %2: calibrated to a range of +-0.")));
    }
  }
}

/// The square root of the largest sum of channels minus 3.5: a number only where the range of the
/// data includes its one outlier, 7.
Graph RootOfTheLargest() {
  auto graph =
      ImportRelay("def @main(%x: Tensor[(1, 4, 192, 192), float32]) {\n%0 = " + Conv("%x", 0) +
                      ";\n%1 = nn.max_pool2d(%0, pool_size=[192, 192], strides=[192, 192]);\n"
                      "%2 = subtract(%1, 3.5f);\nsqrt(%2)\n}\n",
                  "g");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  for (int id = 0; id < graph->size(); ++id) {
    if (graph->node(id).name != "relay.Constant.0") continue;
    Tensor ones(graph->node(id).type);
    for (std::int64_t k = 0; k < ones.elements(); ++k) ones.Set(k, 1);
    graph->SetContents(id, std::move(ones));
  }
  return *std::move(graph);
}

// By percentiles the outlier is cut and the outputs are no numbers: the mode is the best only until
// another one has numbers.
TEST(QuantizeExtremes, TheBestModeHasNumbers) {
  const Graph graph = RootOfTheLargest();
  Tensor data({{1, 4, 192, 192}, kFloat32});
  for (std::int64_t k = 0; k < data.elements(); ++k) {
    data.Set(k, 0.05 * static_cast<double>(k * 37 % 101) / 101);
  }
  data.Set(1000, 7);
  PipelineOptions options;
  options.samples.resize(1);
  options.samples[0].push_back(std::move(data));
  const auto expected = FloatResults::Of(graph, options.samples, 1);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  options.passes = {"annotate", "calibrate", "realize"};
  options.config.skip_conv_layers.clear();
  ImproveForCpu(options.config, {});
  std::vector<CalibrateMode> modes;
  std::vector<double> qualities;
  std::vector<bool> best_so_far;
  const auto best =
      QuantizeInBestMode(graph, options, *expected, [&](const ModeResult& result, bool better) {
        modes.push_back(result.mode);
        qualities.push_back(result.quality.total);
        best_so_far.push_back(better);
      });
  ASSERT_TRUE(best.ok()) << best.status().message();
  ASSERT_EQ(modes.size(), 4U);
  EXPECT_EQ(modes[0], CalibrateMode::kPercentile);
  EXPECT_TRUE(std::isnan(qualities[0]));
  EXPECT_TRUE(best_so_far[0]);
  double most = -1e9;
  for (std::size_t i = 1; i < modes.size(); ++i) {
    const bool better = !std::isnan(qualities[i]) && qualities[i] > most;
    if (i > 1) {
      EXPECT_EQ(best_so_far[i], better) << i;
    }
    if (better) most = qualities[i];
  }
  EXPECT_GT(most, 10);
  EXPECT_EQ(best->quality.total, most);
  EXPECT_EQ(options.config.calibrate_mode, best->mode);
}

}  // namespace
}  // namespace tilewright::quantize
