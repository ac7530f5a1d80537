#include "src/graph/quantize/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/graph/quantize/integral.h"
#include "src/graph/quantize/threshold.h"
#include "tests/graph/quantize_test_graphs.h"

namespace tilewright::quantize {
namespace {

using testing::HasSubstr;

/// Runs passes with synthetic constants within +-0.5.
Result<Graph> RunOn(const std::string& body, std::vector<std::string> passes, Config config,
                    std::vector<Sample> samples = {}) {
  Graph graph = GraphOf(body);
  SeedConstants(graph, SeedRule::kMissing);
  PipelineOptions options{std::move(config), std::move(passes), std::move(samples), 1, {}};
  std::vector<IntegerValue> values;
  return RunPasses(std::move(graph), options, &values);
}

std::string OutlineOf(const std::string& body, std::vector<std::string> passes,
                      const Config& config) {
  auto graph = RunOn(body, std::move(passes), config);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? Outline(*graph) : "";
}

TEST(QuantizeAnnotateTest, MarksDataAndWeights) {
  EXPECT_EQ(OutlineOf(Conv("%x", 0), {"partition", "annotate"}, AllConvolutions()),
            "0 = simulated_quantize(x, \"input\"); 1 = simulated_quantize(c0, \"weight\"); "
            "2 = conv2d(0, 1); 3 = simulated_quantize(2, \"input\"); 4 = cast_hint(3); "
            "stop_fusion(4)");
}

TEST(QuantizeAnnotateTest, SkippedConvolutionsLoseTheirMarkers) {
  const std::string body = "%0 = " + Conv("%x", 0) + "; %1 = nn.relu(%0); " + Conv("%1", 1);
  EXPECT_EQ(OutlineOf(body, {"partition", "annotate"}, TvmRules()),
            "0 = conv2d(x, c0); 1 = relu(0); 2 = stop_fusion(1); "
            "3 = simulated_quantize(2, \"input\"); 4 = simulated_quantize(c1, \"weight\"); "
            "5 = conv2d(3, 4); 6 = simulated_quantize(5, \"input\"); 7 = cast_hint(6); "
            "stop_fusion(7)");
}

TEST(QuantizeAnnotateTest, RulesBeforeApril2021SkipEveryOperatorAtASkippedIndex) {
  Config config = TvmRules();
  config.skip_conv_layers = {1};
  const std::string body = "%0 = " + Conv("%x", 0) +
                           "; %1 = nn.max_pool2d(%0, pool_size=[1, 1], "
                           "padding=[0, 0, 0, 0]); " +
                           Conv("%1", 1);
  EXPECT_THAT(OutlineOf(body, {"partition", "annotate"}, config), HasSubstr("cast_hint"));
  config.rules = 202103;
  EXPECT_THAT(OutlineOf(body, {"partition", "annotate"}, config), Not(HasSubstr("cast_hint")));
}

TEST(QuantizeAnnotateTest, ASumOfInputsIsAnActivationSinceAugust2023) {
  // Two annotations with one user each, then a ReLU with one user: only the later rules annotate
  // again.
  const std::string body =
      "%0 = " + Conv("%x", 0) + "; %1 = " + Conv("%x", 1) + "; %2 = add(%0, %1); nn.relu(%2)";
  Config config = AllConvolutions();
  const auto marks = [&] {
    const std::string outline = OutlineOf(body, {"partition", "annotate"}, config);
    std::size_t count = 0;
    for (std::size_t at = outline.find("\"input\""); at != std::string::npos;
         at = outline.find("\"input\"", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(marks(), 4U);  // data, two sides, the result
  config.rules = 202307;
  EXPECT_EQ(marks(), 3U);
}

TEST(QuantizeAnnotateTest, DenseStaysUnlessAskedFor) {
  const std::string body =
      "%0 = " + Conv("%x", 0) +
      "; %1 = nn.batch_flatten(%0); "
      "nn.dense(%1, meta[relay.Constant][1] /* ty=Tensor[(3, 64), float32] */, units=3)";
  Config config = AllConvolutions();
  EXPECT_THAT(OutlineOf(body, {"partition", "annotate"}, config), HasSubstr("dense(6, c1)"));
  config.skip_dense_layer = false;
  EXPECT_THAT(OutlineOf(body, {"partition", "annotate"}, config),
              HasSubstr("7 = simulated_quantize(c1, \"weight\")"));
}

TEST(QuantizeAnnotateTest, OtherOperatorsThanTheEnabledStayPlain) {
  Config config = AllConvolutions();
  config.debug_enabled_ops = {"nn.dense"};
  EXPECT_EQ(OutlineOf(Conv("%x", 0), {"partition", "annotate"}, config),
            "0 = conv2d(x, c0); stop_fusion(0)");
}

TEST(QuantizeRealizeTest, ConvolutionsWorkOnIntegers) {
  EXPECT_EQ(OutlineOf("%0 = " + Conv("%x", 0) + "; add(%0, " + Bias(1) + ")",
                      DefaultPasses(Config()), AllConvolutions()),
            "0 = multiply(x, 16f); 1 = round(0); 2 = clip(1); 3 = cast(2); 4 = conv2d(3, c0); "
            "5 = add(4, c1); 6 = add(5, 32); 7 = right_shift(6, 6); 8 = clip(7); 9 = cast(8); "
            "10 = stop_fusion(9); 11 = cast(10); multiply(11, 0.0625f)");
}

TEST(QuantizeRealizeTest, OtherRatiosThanPowersOfTwoAreFixedPointProducts) {
  Config config = AllConvolutions();
  config.weight_scale = WeightScale::kMax;
  const std::string outline = OutlineOf(Conv("%x", 0), DefaultPasses(config), config);
  EXPECT_THAT(outline, HasSubstr("5 = cast(4); 6 = multiply(5, "));
  EXPECT_THAT(outline, HasSubstr("9 = clip(8); 10 = cast(9)"));
}

TEST(QuantizeRealizeTest, BoundsOfAClipAreRoundedInwards) {
  struct Case {
    double least, most, least_steps, most_steps;
  };
  const double step = std::exp2(-10);  // of the sums: inputs of 8 / 128, weights of 2 / 128
  for (const Case& tested :
       {Case{0.1, 0.9, 103, 921}, {-0.9, -0.1, -921, -103}, {0, 0.5, 0, 512}}) {
    auto graph = RunOn(fmt::format("%0 = {}; clip(%0, a_min={}f, a_max={}f)", Conv("%x", 0),
                                   tested.least, tested.most),
                       DefaultPasses(Config()), AllConvolutions());
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const auto conv = std::ranges::find(graph->nodes(), OpKind::kConv2d,
                                        [](const Node& node) { return node.op.kind; });
    const auto clip = std::find_if(conv, graph->nodes().end(),
                                   [](const Node& node) { return node.op.kind == OpKind::kClip; });
    ASSERT_NE(clip, graph->nodes().end());
    EXPECT_EQ(clip->op.attributes.a_min, tested.least_steps);
    EXPECT_EQ(clip->op.attributes.a_max, tested.most_steps);
    EXPECT_GE(clip->op.attributes.a_min * step, tested.least);
    EXPECT_LE(clip->op.attributes.a_max * step, tested.most);
  }
}

TEST(QuantizeRealizeTest, SumsThatInt32CannotHoldAreRefused) {
  Config config = AllConvolutions();
  config.dtype_input = config.dtype_weight = kInt16;
  config.nbit_input = config.nbit_weight = 16;
  auto graph = RunOn(Conv("%x", 0), DefaultPasses(config), config);
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(),
              HasSubstr("a sum of 4 products of 16 and 16 bits can leave int32: expected "
                        "nbit_input and nbit_weight of at most 31 together"));
  config.nbit_weight = 15;
  graph = RunOn(Conv("%x", 0), DefaultPasses(config), config);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
}

TEST(QuantizeRealizeTest, NeedsScales) {
  auto graph = RunOn(Conv("%x", 0), {"partition", "annotate", "realize"}, AllConvolutions());
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), HasSubstr("run calibrate first"));
}

/// Network with every kind of operator that works on integers.
std::string Network() {
  return "%0 = " + Conv("%x", 0) + "; %1 = add(%0, " + Bias(1) +
         "); %2 = nn.relu(%1); %3 = " + Conv("%2", 2) + "; %4 = add(%3, " + Bias(3) +
         "); %5 = clip(%4, a_min=0f, a_max=6f); " +
         "%6 = nn.max_pool2d(%5, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]); %7 = " +
         Conv("%6", 4) +
         "; %8 = add(%6, %7); %9 = concatenate((%8, %6), axis=1); "
         "nn.avg_pool2d(%9, pool_size=[2, 2], padding=[0, 0, 0, 0])";
}

struct ModeCase {
  const char* name;
  std::vector<std::pair<std::string, std::string>> fields;
  double sqnr;  // lower bound; without saturation, 8 bits reach about 40
};

class QuantizeModeTest : public testing::TestWithParam<ModeCase> {};

TEST_P(QuantizeModeTest, StaysNearTheFloatNetwork) {
  for (RuleDate rules : {kLatestTvmRules, kAccurateRules}) {
    Config config = AllConvolutions();
    config.rules = rules;
    for (const auto& [field, value] : GetParam().fields) {
      const Status status = config.Set(field, value);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    auto reference = RunOn(Network(), {}, config);
    ASSERT_TRUE(reference.ok());
    auto quantized = RunOn(Network(), DefaultPasses(config), config, SyntheticSamples(*reference));
    ASSERT_TRUE(quantized.ok()) << quantized.status().message();
    EXPECT_GT(Sqnr(*quantized, *reference), GetParam().sqnr) << rules;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, QuantizeModeTest,
    testing::Values(
        ModeCase{"GlobalScale", {}, 15},
        ModeCase{"Percentile", {{"calibrate_mode", "percentile"}}, 28},
        ModeCase{"Kl", {{"calibrate_mode", "kl_divergence"}, {"weight_scale", "max"}}, 20},
        ModeCase{"Max", {{"calibrate_mode", "percentile"}, {"weight_scale", "max"}}, 28},
        ModeCase{
            "PerChannel",
            {{"calibrate_mode", "percentile"}, {"weight_scale", "max"}, {"per_channel", "True"}},
            28},
        ModeCase{
            "ToNearest",
            {{"calibrate_mode", "percentile"}, {"weight_scale", "max"}, {"rounding", "TONEAREST"}},
            28},
        ModeCase{"InParts", {{"calibrate_mode", "percentile"}, {"calibrate_chunk_by", "2"}}, 28},
        ModeCase{"Simulation", {{"calibrate_mode", "percentile"}, {"do_simulation", "true"}}, 28}),
    [](const auto& tested) { return tested.param.name; });

TEST(QuantizeTest, PassesGoThroughTexts) {
  const Config config = AllConvolutions();
  auto whole = RunOn(Network(), DefaultPasses(config), config);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  Graph graph = GraphOf(Network());
  SeedConstants(graph, SeedRule::kMissing);
  for (const std::string& pass : DefaultPasses(config)) {
    PipelineOptions options{config, {pass}, {}, 1, {}};
    std::vector<IntegerValue> values;
    auto next = RunPasses(std::move(graph), options, &values);
    ASSERT_TRUE(next.ok()) << pass << ": " << next.status().message();
    auto text = ExportRelay(*next);
    ASSERT_TRUE(text.ok()) << text.status().message();
    auto read = ImportRelay(*text, "g");
    ASSERT_TRUE(read.ok()) << read.status().message();
    graph = *std::move(read);
  }
  EXPECT_EQ(*PrintRelay(graph), *PrintRelay(*whole));
}

// Weights close to zero have a scale close to zero; the bias added to them is kept.
TEST(QuantizeTest, ChannelsOfNearlyNoWeightsKeepTheirBias) {
  const auto network = [] {
    Graph graph = GraphOf("%0 = " + Conv("%x", 0) + "; add(%0, " + Bias(1) + ")");
    for (int id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      if (node.kind != NodeKind::kConstant) continue;
      Tensor contents(node.type);
      for (std::int64_t i = 0; i < contents.elements(); ++i) {
        const bool weight = contents.elements() == 16;
        contents.Set(i, weight ? (i / 4 == 2 ? 1e-30 : 0.25) : 0.5 + static_cast<double>(i));
      }
      graph.SetContents(id, std::move(contents));
    }
    return graph;
  };
  for (const char* rule : {"max", "power2"}) {
    Config config = AllConvolutions();
    ASSERT_TRUE(config.Set("per_channel", "True").ok());
    ASSERT_TRUE(config.Set("weight_scale", rule).ok());
    PipelineOptions options{config, DefaultPasses(config), {}, 1, {}};
    std::vector<IntegerValue> values;
    auto quantized = RunPasses(network(), options, &values);
    ASSERT_TRUE(quantized.ok()) << quantized.status().message();
    EXPECT_GT(Sqnr(*quantized, network()), 30) << rule;
  }
}

// The scale of weights that are almost 0 is too small for float32; the weights become 0.
TEST(QuantizeTest, WeightsOfNextToNothingBecomeZeros) {
  Graph graph = GraphOf("%0 = " + Conv("%x", 0) + "; add(%0, " + Bias(1) + ")");
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kConstant) continue;
    Tensor contents(node.type);
    for (std::int64_t i = 0; i < contents.elements(); ++i) {
      contents.Set(i, contents.elements() == 16 ? 1e-40 : 0.75);
    }
    graph.SetContents(id, std::move(contents));
  }
  const Config config = AllConvolutions();
  PipelineOptions options{config, DefaultPasses(config), {}, 1, {}};
  std::vector<IntegerValue> values;
  const auto quantized = RunPasses(std::move(graph), options, &values);
  ASSERT_TRUE(quantized.ok()) << quantized.status().message();
  const auto results = EvaluateGraph(*quantized, SyntheticSample(*quantized, 1));
  ASSERT_TRUE(results.ok()) << results.status().message();
  for (float result : (*results)[0].As<float>()) EXPECT_EQ(result, 0.75F);
}

TEST(QuantizeTest, RefusesScalesThatNoFloatHas) {
  const auto graph =
      RunOn("%0 = tilewright.simulated_quantize(%x, kind=\"input\", scale=[1e-300]); nn.relu(%0)",
            {"realize"}, AllConvolutions());
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), HasSubstr("would have the scale 1e-300"));
}

TEST(QuantizeTest, NothingToRoundIsAnError) {
  for (const char* pass : {"calibrate", "realize", "simulate"}) {
    auto graph = RunOn(Network(), {pass}, AllConvolutions());
    ASSERT_FALSE(graph.ok()) << pass;
    EXPECT_EQ(graph.status().message(),
              std::string(pass) +
                  ": no value is annotated for rounding, so nothing would become integers: run "
                  "annotate first, and check skip_conv_layers, skip_dense_layer and "
                  "debug_enabled_ops");
  }
}

TEST(QuantizeTest, ProductsThatAllStayFloatSayWhy) {
  const auto graph = RunOn(
      "%0 = nn.batch_flatten(%x); nn.dense(%0, meta[relay.Constant][0] /* ty=Tensor[(3, 64), "
      "float32] */, units=3)",
      {"partition", "annotate", "calibrate"}, Config());
  EXPECT_EQ(graph.status().message(),
            "calibrate: nothing would become integers: 1 matrix products and convolutions stay "
            "float: skip_dense_layer (1); --set skip_dense_layer=false quantizes matrix "
            "products");
}

// The text contains the quantization parameters: the name of the value and the scale.
TEST(QuantizeTest, TextsSayWhatTheIntegersStandFor) {
  const Config config = AllConvolutions();
  Graph graph = GraphOf("%0 = " + Conv("%x", 0) + "; %1 = nn.relu(%0); " + Conv("%1", 1));
  SeedConstants(graph, SeedRule::kMissing);
  for (int id = 0; id < graph.size(); ++id) {
    const std::string op(OpName(graph.node(id).op.kind));
    if (graph.node(id).kind == NodeKind::kOperator) graph.Rename(id, op + std::to_string(id));
  }
  std::vector<std::string> named;
  for (const Node& node : graph.nodes()) {
    if (node.kind == NodeKind::kOperator) named.push_back(node.name);
  }
  ASSERT_EQ(named.size(), 3U);
  for (const std::string& pass : DefaultPasses(config)) {
    PipelineOptions options{config, {pass}, {}, 1, {}};
    std::vector<IntegerValue> values;
    auto next = RunPasses(std::move(graph), options, &values);
    ASSERT_TRUE(next.ok()) << pass << ": " << next.status().message();
    auto text = ExportRelay(*next);
    ASSERT_TRUE(text.ok()) << text.status().message();
    auto read = ImportRelay(*text, "g");
    ASSERT_TRUE(read.ok()) << read.status().message();
    graph = *std::move(read);
  }
  std::map<std::string, QuantizationParams> quantization_map;
  for (int id = 0; id < graph.size(); ++id) {
    const auto known = graph.quantization.find(graph.node(id).name);
    if (known == graph.quantization.end() || known->second.scales.empty()) continue;
    EXPECT_TRUE(graph.node(id).type.dtype.is_integer());
    quantization_map.emplace(graph.FloatName(id), known->second);
  }
  ASSERT_TRUE(quantization_map.contains(named[0]) && quantization_map.contains(named[1]));
  // Data of 8 / 128, weights in steps of 2 / 128, the largest of them between 1 and 2.
  EXPECT_EQ(quantization_map[named[0]].scales, std::vector<float>{1.0F / 16 / 64});
  EXPECT_EQ(quantization_map[named[1]].scales, std::vector<float>{1.0F / 16 / 64});
}

TEST(QuantizeTest, FullyIntegralRefusesFloatsBetweenIntegers) {
  Config config = AllConvolutions();
  config.partition_conversions = PartitionConversions::kFullyIntegral;
  EXPECT_TRUE(RunOn(Network(), DefaultPasses(config), config).ok());
  auto graph = RunOn("%0 = " + Conv("%x", 0) + "; %1 = sigmoid(%0); " + Conv("%1", 1),
                     DefaultPasses(config), config);
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), HasSubstr("sigmoid (1)"));
}

TEST(QuantizeTest, ConversionsBecomeFunctions) {
  Config config = AllConvolutions();
  config.skip_conv_layers = {0};  // the first layer: a float convolution and the rounding after it
  const std::string body = "%0 = " + Conv("%x", 0) + "; %1 = nn.relu(%0); %2 = " + Conv("%1", 1) +
                           "; %3 = nn.relu(%2); sigmoid(%3)";
  auto graph = RunOn(body, DefaultPasses(config), config);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto split = SplitConversions(*graph);
  ASSERT_TRUE(split.ok()) << split.status().message();
  auto text = ExportRelay(*graph, *split);
  ASSERT_TRUE(text.ok()) << text.status().message();

  const std::vector<std::string> functions = {"@quantize_inputs(", "@quantized_main(",
                                              "@dequantize_outputs(", "@main("};
  std::vector<std::size_t> begins;
  for (const std::string& name : functions) begins.push_back(text->find("def " + name));
  ASSERT_TRUE(std::ranges::is_sorted(begins) && begins.back() != std::string::npos) << *text;
  const std::string in = text->substr(begins[0], begins[1] - begins[0]);
  const std::string core = text->substr(begins[1], begins[2] - begins[1]);
  const std::string out = text->substr(begins[2], begins[3] - begins[2]);
  EXPECT_THAT(in, HasSubstr("int8] {"));  // its result
  EXPECT_THAT(in, HasSubstr("nn.conv2d("));
  EXPECT_THAT(core, HasSubstr("nn.conv2d("));
  EXPECT_THAT(core, testing::Not(HasSubstr("float32")));
  EXPECT_THAT(out, HasSubstr("sigmoid("));
  EXPECT_THAT(text->substr(begins[3]), HasSubstr("%x"));

  auto again = ImportRelay(*text, "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*ExportRelay(*again), *ExportRelay(*graph));  // including the contents of constants
}

TEST(QuantizeTest, WithoutIntegersNothingIsSplitOff) {
  const auto split = SplitConversions(GraphOf("nn.relu(%x)"));
  ASSERT_FALSE(split.ok());
  EXPECT_THAT(split.status().message(), HasSubstr("realize must run"));
}

TEST(QuantizeTest, CalibrationNeedsData) {
  Config config = AllConvolutions();
  config.calibrate_mode = CalibrateMode::kPercentile;
  auto graph = RunOn(Conv("%x", 0), DefaultPasses(config), config);
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), HasSubstr("needs a data set"));
}

TEST(QuantizeConfigTest, RefusesWhatIsNoField) {
  Config config;
  EXPECT_THAT(config.Set("nbits", "8").message(), HasSubstr("expected one of nbit_input"));
  EXPECT_THAT(config.Set("nbit_input", "99").message(), HasSubstr("expected 2 to 16"));
  EXPECT_THAT(config.Set("global_scale", "-1").message(), HasSubstr("a positive number"));
  EXPECT_THAT(config.Set("calibrate_mode", "max").message(), HasSubstr("percentile"));
  EXPECT_THAT(config.Set("skip_conv_layers", "[-1]").message(), HasSubstr("indices from 0"));
  EXPECT_THAT(config.SetAll("[1]").message(), HasSubstr("a JSON object"));
  EXPECT_THAT(config.SetAll("{\"rounding\": \"DOWN\"}").message(), HasSubstr("TONEAREST"));
  EXPECT_THAT(config.Set("rules", "2020-01").message(), HasSubstr("2023-08"));
  ASSERT_TRUE(config.Set("nbit_input", "12").ok());
  EXPECT_THAT(config.Check().message(), HasSubstr("12 bits of inputs do not fit int8"));
}

TEST(QuantizeConfigTest, TakesJsonAndTheSpellingOfScripts) {
  Config config;
  ASSERT_TRUE(config.SetAll(R"({"skip_conv_layers": [1, 2], "do_simulation": true})").ok());
  EXPECT_EQ(config.skip_conv_layers, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(config.do_simulation);
  ASSERT_TRUE(config.Set("skip_conv_layers", "None").ok());
  EXPECT_TRUE(config.skip_conv_layers.empty());
  ASSERT_TRUE(config.Set("do_simulation", "False").ok());
  EXPECT_FALSE(config.do_simulation);
  ASSERT_TRUE(config.Set("rules", "2021-03").ok());
  EXPECT_EQ(config.rules, 202103);
}

// The expected values come from one run of a simple program that implements the rule.
TEST(QuantizeThresholdTest, KlIsTheLeastDivergence) {
  std::vector<float> values;
  for (int i = 0; i < 4000; ++i) {
    const double u = (i * 7919 % 4001 - 2000) / 2000.0;
    values.push_back(static_cast<float>(u * u * u * 4));
  }
  EXPECT_NEAR(KlThreshold(values), 3.9840019997500304, 1e-9);
  values.insert(values.end(), {16, -20});
  EXPECT_NEAR(KlThreshold(values), 4.006999125109363, 1e-9);
  EXPECT_EQ(KlThreshold({0, 0}), 0);
}

// Among many small values and one outlier, the outlier is clipped if that costs less than larger
// steps for the others.
TEST(QuantizeThresholdTest, MseWeighsClippingAgainstSteps) {
  std::vector<float> values(1000000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7919 % 1000) / 1000 - 0.5F;
  }
  EXPECT_NEAR(MseThreshold(values, 127), 0.5, 0.01);
  values.push_back(1);
  EXPECT_NEAR(MseThreshold(values, 127), 0.5, 0.01);  // 10^6 / 12 steps^2: 5.2 against 1.3 + 0.25
  EXPECT_GT(MseThreshold(values, 2000), 0.9);         // 0.02 against 0.005 + 0.25
  EXPECT_EQ(MseThreshold({0, 0}, 127), 0);
}

TEST(QuantizeThresholdTest, PercentileIsAPosition) {
  std::vector<float> values;
  for (int i = 0; i < 200000; ++i) values.push_back(static_cast<float>(i % 2 == 0 ? i : -i));
  EXPECT_EQ(PercentileThreshold(values), 199998);  // int(0.99999 * 200000)
  std::vector<float> none;
  EXPECT_EQ(PercentileThreshold(none), 0);
}

}  // namespace
}  // namespace tilewright::quantize
