// Quantization maps as text, and quantization parameters of values that are rounded from others.

#include "src/graph/ir/quantization_map.h"

#include <gtest/gtest.h>

#include "src/graph/relay/export.h"

namespace tilewright {
namespace {

TEST(QuantizationMap, AreReadBackFromTheirText) {
  const QuantizationMap quantization_map = {{"%3", {{0.5F, 0.25F}, 1, 0, "conv"}},
                                            {"x", {{0.125F}, 0, 7, ""}}};
  const auto read = ParseQuantizationMap(QuantizationMapToJson(quantization_map));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, quantization_map);
  EXPECT_FALSE(ParseQuantizationMap(R"({"x":{"scales":[-1]}})").ok());
  EXPECT_FALSE(ParseQuantizationMap("[]").ok());
}

TEST(QuantizationMap, OfWhatIsRoundedFollowFromItsSteps) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(2, 4), int32]) {
  %0 = nn.relu(%x);
  %1 = add(%0, 8);
  %2 = right_shift(%1, 4);
  %3 = clip(%2, a_min=-127f, a_max=127f);
  %4 = cast(%3, dtype="int8");
  %5 = multiply(%0, 2);
  %6 = fixed_point_multiply(%0, multiplier=1073741824, shift=0);
  %7 = clip(%0, a_min=0f, a_max=6f);
  (%4, %5, %6, %7)
})",
                           "net");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  graph->quantization["%0"] = {{0.5F}, 0, 0, "relu"};
  const QuantizationMap all = InferQuantizationMap(*graph);
  const auto scaled = [](float scale) { return QuantizationParams{{scale}, 0, 0, "relu"}; };
  EXPECT_EQ(all.at("%2"), scaled(8));
  EXPECT_EQ(all.at("%4"), scaled(8));
  EXPECT_EQ(all.at("%5"), scaled(0.25F));
  EXPECT_EQ(all.at("%6"), scaled(1));
  EXPECT_FALSE(all.contains("%1"));  // includes the added half
  EXPECT_FALSE(all.contains("%7"));  // an operator of the network
}

TEST(QuantizationMap, StepsThatNoFloatHoldsAreNotWritten) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(2, 4), int32]) {
  %0 = nn.relu(%x);
  %1 = fixed_point_multiply(%0, multiplier=0, shift=0);
  %2 = multiply(%0, 1073741824);
  %3 = right_shift(%0, 30);
  (%1, %2, %3)
})",
                           "net");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  graph->quantization["%0"] = {{2e-38F, 3e38F}, 1, 0, "relu"};
  const QuantizationMap all = InferQuantizationMap(*graph);
  for (const char* name : {"%1", "%2", "%3"}) {
    EXPECT_FALSE(all.contains(name)) << name;
  }
  const auto read = ParseQuantizationMap(QuantizationMapToJson(all));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, all);
}

TEST(QuantizationMap, MadeUpConstantsAreSaidInTheText) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(2, 4), float32]) {
  nn.dense(%x, meta[relay.Constant][0] /* ty=Tensor[(3, 4), float32] */)
})",
                           "net");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->synthetic_constants, 0);
  SeedConstants(*graph, SeedRule::kMissing);
  const auto text = ExportRelay(*graph);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto read = ImportRelay(*text, "net");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->synthetic_constants, 1);
  EXPECT_TRUE(read->HasContents(1) || read->HasContents(0));
  std::string bad = *text;
  const std::size_t count = bad.find("made_up_constants\":\"1\"");
  ASSERT_NE(count, std::string::npos);
  bad.replace(count + 20, 1, "-");
  EXPECT_FALSE(ImportRelay(bad, "net").ok());
}

}  // namespace
}  // namespace tilewright
