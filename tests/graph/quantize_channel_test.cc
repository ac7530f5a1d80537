// Weight scales per output channel: sums with constants of every shape that broadcasts to the
// channels, and dimensions that have the size of the channels but are not the channels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/graph/quantize/pipeline.h"
#include "tests/graph/quantize_test_graphs.h"

namespace tilewright::quantize {
namespace {

struct ChannelCase {
  const char* name;
  const char* input;  // shape of the input
  std::string body;   // W0, W1, H0: weights (H0 in HWIO); K(shape): constant 2
  std::vector<std::pair<std::string, std::string>> fields = {};
  std::vector<std::string> passes = {};  // empty: all
};

std::string ConstantText(int index, const std::string& shape) {
  return fmt::format("meta[relay.Constant][{}] /* ty=Tensor[({}), float32] */", index, shape);
}

/// Returns the graph of a case. The outputs of the first weight (dimension 0; in HWIO the last one)
/// have magnitudes from 1 to 0.001.
Graph ChannelGraph(const ChannelCase& tested) {
  std::string body = tested.body;
  const auto replace = [&](const std::string& from, const std::string& to) {
    if (const auto at = body.find(from); at != std::string::npos) body.replace(at, from.size(), to);
  };
  replace("W0", ConstantText(0, "8, 8, 1, 1"));
  replace("H0", ConstantText(0, "1, 1, 8, 8"));
  replace("W1", ConstantText(1, "8, 8, 1, 1"));
  if (const auto at = body.find("K("); at != std::string::npos) {
    const auto end = body.find(')', at);
    const std::string shape = body.substr(at + 2, end - at - 2);
    body.replace(at, end + 1 - at, ConstantText(2, shape));
  }
  auto graph = ImportRelay(
      fmt::format("def @main(%x: Tensor[({}), float32]) {{\n{}\n}}\n", tested.input, body), "g");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  for (int id = 0; id < graph->size(); ++id) {
    if (graph->node(id).kind != NodeKind::kOperator) continue;
    const int weight = graph->node(id).inputs[1];  // weight of the first convolution
    Tensor contents = graph->Contents(weight)->Clone();
    const bool last = graph->node(id).op.attributes.kernel_layout == "HWIO";
    for (std::int64_t i = 0; i < contents.elements(); ++i) {
      const std::int64_t output = last ? i % 8 : i / 8;
      contents.Set(i, contents.At(i) * 2 * std::pow(10, -static_cast<double>(output % 4)));
    }
    graph->SetContents(weight, std::move(contents));
    break;
  }
  return *std::move(graph);
}

class QuantizeChannelTest : public testing::TestWithParam<ChannelCase> {};

TEST_P(QuantizeChannelTest, StaysNearTheFloatNetwork) {
  const ChannelCase& tested = GetParam();
  Config config = AllConvolutions();
  config.per_channel = true;
  config.weight_scale = WeightScale::kMax;
  config.calibrate_mode = CalibrateMode::kPercentile;
  for (const auto& [field, value] : tested.fields) {
    ASSERT_TRUE(config.Set(field, value).ok()) << field;
  }
  const Graph reference = ChannelGraph(tested);
  const std::vector<std::string> passes =
      tested.passes.empty() ? DefaultPasses(config) : tested.passes;
  PipelineOptions options{config, passes, SyntheticSamples(reference), 1, {}};
  std::vector<IntegerValue> values;
  auto quantized = RunPasses(ChannelGraph(tested), options, &values);
  ASSERT_TRUE(quantized.ok()) << quantized.status().message();
  EXPECT_GT(Sqnr(*quantized, reference), 26);
  const auto scales_of_channels = [](const IntegerValue& v) { return v.scales.size() == 8; };
  EXPECT_TRUE(std::ranges::any_of(values, scales_of_channels));
}

/// A constant that is not added directly to the sums of the convolution.
std::string SumWith(const std::string& constant) {
  return "%0 = nn.conv2d(%x, W0); %1 = nn.relu(%0); %2 = add(%1, " + constant +
         "); %3 = nn.conv2d(%2, W1); nn.relu(%3)";
}

INSTANTIATE_TEST_SUITE_P(
    Sums, QuantizeChannelTest,
    testing::Values(ChannelCase{"Scalar", "1, 8, 4, 4", SumWith("0.5f")},
                    ChannelCase{"Channels", "1, 8, 4, 4", SumWith("K(1, 8, 1, 1)")},
                    ChannelCase{"Whole", "1, 8, 4, 4", SumWith("K(1, 8, 4, 4)")},
                    ChannelCase{"ImageLikeChannels", "1, 8, 8, 8", SumWith("K(8, 8)")},
                    ChannelCase{"Image", "1, 8, 4, 4", SumWith("K(4, 4)")}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Biases, QuantizeChannelTest,
    testing::Values(
        ChannelCase{"OfBatchLikeChannels", "8, 8, 4, 4",
                    "%0 = nn.conv2d(%x, W0); %1 = add(%0, K(8, 8, 4, 4)); nn.relu(%1)"},
        ChannelCase{"OfImageLikeChannels", "1, 8, 8, 8",
                    "%0 = nn.conv2d(%x, W0); %1 = add(%0, K(8, 8)); nn.relu(%1)"},
        ChannelCase{"OfRowsLikeChannels", "1, 8, 8, 8",
                    "%0 = nn.conv2d(%x, H0, data_layout=\"NHWC\", kernel_layout=\"HWIO\"); "
                    "%1 = add(%0, K(1, 8, 8, 8)); nn.relu(%1)"},
        ChannelCase{"OfTheLastDimension", "1, 8, 8, 8",
                    "%0 = nn.conv2d(%x, H0, data_layout=\"NHWC\", kernel_layout=\"HWIO\"); "
                    "%1 = add(%0, K(8)); nn.relu(%1)"},
        ChannelCase{"OfChannels", "1, 8, 4, 4",
                    "%0 = nn.conv2d(%x, W0); %1 = add(%0, K(8, 1, 1)); nn.relu(%1)"},
        ChannelCase{"OfOneElement", "1, 8, 4, 4",
                    "%0 = nn.conv2d(%x, W0); %1 = add(%0, 0.5f); nn.relu(%1)"}),
    [](const auto& tested) { return tested.param.name; });

// By the rules before August 2023 such a sum is an input, which no annotation converts to one
// scale.
INSTANTIATE_TEST_SUITE_P(OldRules, QuantizeChannelTest,
                         testing::Values(ChannelCase{
                             "SumOfAnInput",
                             "1, 8, 4, 4",
                             "%0 = nn.conv2d(%x, W0); %1 = add(%x, %0); nn.conv2d(%1, W1)",
                             {{"rules", "2021-10"}},
                             {"fold", "annotate", "calibrate", "realize"}}),
                         [](const auto& tested) { return tested.param.name; });

// Both sides have 8 channels, but in different dimensions, so there is no scale per channel.
INSTANTIATE_TEST_SUITE_P(
    OtherChannels, QuantizeChannelTest,
    testing::Values(ChannelCase{
        "StayFloat",
        "1, 8, 8, 8",
        "%0 = nn.conv2d(%x, W0); %1 = add(%x, %0); "
        "%2 = nn.conv2d(%x, K(1, 1, 8, 8), data_layout=\"NHWC\", kernel_layout=\"HWIO\"); "
        "add(%1, %2)",
        {{"rules", "2021-10"}},
        {"fold", "annotate", "calibrate", "realize"}}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tilewright::quantize
