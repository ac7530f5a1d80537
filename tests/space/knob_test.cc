#include "src/space/knob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/math.h"

namespace tilewright {
namespace {

using Factors = std::vector<std::int64_t>;

struct SplitCase {
  const char* name;
  std::int64_t extent;
  int parts;
  Knob::SplitPolicy policy;
  std::int64_t size;  // expected number of values
};
class SplitKnobTest : public testing::TestWithParam<SplitCase> {};

TEST_P(SplitKnobTest, HasAsManyValuesAsAutotvmsAndEachCoversTheExtent) {
  const SplitCase& c = GetParam();
  auto knob = Knob::Split("tile", c.extent, c.parts, {.policy = c.policy});
  ASSERT_TRUE(knob.ok()) << knob.status().message();
  EXPECT_EQ(knob->size(), c.size);
  for (std::int64_t i = 0; i < knob->size(); ++i) {
    const Factors& factors = (*knob)[i].factors();
    EXPECT_GE(Product(factors), c.extent) << i;
    if (c.policy == Knob::SplitPolicy::kFactors) {
      EXPECT_EQ(Product(factors), c.extent) << i;
    }
    EXPECT_EQ(knob->Find((*knob)[i]), i);
  }
}
constexpr auto kFactors = Knob::SplitPolicy::kFactors;
constexpr auto kPower2 = Knob::SplitPolicy::kPower2;
constexpr auto kVerbose = Knob::SplitPolicy::kVerbose;
INSTANTIATE_TEST_SUITE_P(Reference, SplitKnobTest,
                         testing::Values(SplitCase{"Unit", 1, 2, kFactors, 1},
                                         SplitCase{"Prime", 7, 2, kFactors, 2},
                                         SplitCase{"Composite", 12, 2, kFactors, 6},
                                         SplitCase{"ThreeParts", 12, 3, kFactors, 18},
                                         SplitCase{"Pow2Factors", 256, 3, kFactors, 45},
                                         SplitCase{"Pow2Power2", 256, 3, kPower2, 45},
                                         SplitCase{"Pow2Verbose", 256, 3, kVerbose, 45},
                                         SplitCase{"MixedFactors", 224, 3, kFactors, 63},
                                         SplitCase{"MixedPower2", 224, 3, kPower2, 36},
                                         SplitCase{"MixedVerbose", 224, 3, kVerbose, 84},
                                         SplitCase{"FourParts", 1 << 25, 4, kFactors, 3276}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(SplitKnobTest, OrderIsAutotvms) {
  auto knob = Knob::Split("tile", 12, 3);
  ASSERT_TRUE(knob.ok());
  const std::vector<Factors> expected = {
      {12, 1, 1}, {6, 2, 1}, {4, 3, 1}, {3, 4, 1}, {2, 6, 1}, {1, 12, 1},
      {6, 1, 2},  {3, 2, 2}, {2, 3, 2}, {1, 6, 2}, {4, 1, 3}, {2, 2, 3},
      {1, 4, 3},  {3, 1, 4}, {1, 3, 4}, {2, 1, 6}, {1, 2, 6}, {1, 1, 12},
  };
  ASSERT_EQ(knob->size(), static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*knob)[static_cast<std::int64_t>(i)].factors(), expected[i]) << i;
  }
}

TEST(SplitKnobTest, LimitAndPredicateDropValuesInPlace) {
  auto limited = Knob::Split("tile", 56, 2, {.policy = kVerbose, .max_factor = 16});
  ASSERT_TRUE(limited.ok());
  std::vector<std::int64_t> inner;
  for (std::int64_t i = 0; i < limited->size(); ++i) inner.push_back((*limited)[i].factors()[1]);
  EXPECT_THAT(inner, testing::ElementsAre(1, 2, 4, 7, 8, 14, 16));
  EXPECT_EQ((*limited)[6].factors(), (Factors{4, 16}));  // a tail: 4 x 16 > 56

  auto kept = Knob::Split("tile", 12, 2, {.keep = [](const Factors& f) { return f[1] % 2 == 0; }});
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->size(), 4);
}

TEST(SplitKnobTest, BadArgumentsAreRefused) {
  EXPECT_FALSE(Knob::Split("tile", 0, 2).ok());
  EXPECT_FALSE(Knob::Split("tile", -4, 2).ok());
  EXPECT_FALSE(Knob::Split("tile", 4, 0).ok());
  EXPECT_FALSE(Knob::Split("tile", 4, 5).ok());
  EXPECT_FALSE(Knob::Split("tile", 4, 2, {.keep = [](const Factors&) { return false; }}).ok());
}

TEST(KnobTest, ScalarsKeepTheirTypes) {
  const Knob flag = Knob::Bool("unroll_kw", {true, false});
  EXPECT_EQ(flag.Find(KnobValue{true}), 0);
  EXPECT_EQ(flag.Find(KnobValue{std::int64_t{1}}), -1);
  EXPECT_EQ(flag[1].integer(), 0);
  const Knob number = Knob::Other("tile_oh", {1, 2});
  EXPECT_EQ(number[1].integer(), 2);
  EXPECT_EQ(number[1].ToString(), "2");
  EXPECT_EQ(flag[0].ToString(), "true");
  EXPECT_EQ(KnobValue{std::string("none")}.ToString(), "\"none\"");
}

}  // namespace
}  // namespace tilewright
