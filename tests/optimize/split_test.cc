#include "src/optimize/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tilewright::optimize {
namespace {

TEST(SplitTest, PartsAreDisjointAndCompleteAndTheSameEachTime) {
  for (const std::size_t count : {4U, 5U, 17U, 100U, 1000U}) {
    const auto split = SplitSamples(count, Bound{}, 1);
    ASSERT_TRUE(split.ok()) << split.status().message();
    std::set<std::size_t> all;
    for (const auto* part : {&split->calibration, &split->search, &split->held_out}) {
      EXPECT_FALSE(part->empty());
      for (const std::size_t i : *part) EXPECT_TRUE(all.insert(i).second) << i;
    }
    EXPECT_EQ(all.size(), count);
    EXPECT_LT(*all.rbegin(), count);
    EXPECT_LE(split->calibration.size(), 64U);
    const auto again = SplitSamples(count, Bound{}, 1);
    EXPECT_EQ(again->held_out, split->held_out);
    EXPECT_EQ(again->search, split->search);
  }
}

TEST(SplitTest, SamplesAreMixed) {
  const auto split = SplitSamples(100, Bound{}, 1);
  ASSERT_TRUE(split.ok());
  EXPECT_LT(split->held_out.front(), 25U);
  EXPECT_GT(split->calibration.back(), 75U);
}

TEST(SplitTest, TooFewSamplesAreAnErrorWithTheLeastNumber) {
  const Bound agreement{Metric::kAgreement, 0.99};
  const auto few = SplitSamples(100, agreement, 1);
  ASSERT_FALSE(few.ok());
  EXPECT_EQ(few.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(few.status().message(), testing::HasSubstr("expected at least 198 "));
  EXPECT_TRUE(SplitSamples(198, agreement, 1).ok());
  EXPECT_FALSE(SplitSamples(197, agreement, 1).ok());
  EXPECT_TRUE(SplitSamples(30, agreement, 8).ok());  // batches of 8
  EXPECT_FALSE(SplitSamples(3, Bound{}, 1).ok());
  EXPECT_FALSE(SplitSamples(0, Bound{}, 1).ok());
}

}  // namespace
}  // namespace tilewright::optimize
