#include "src/graph/open/size_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/graph/open/size_range.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::string ErrorOf(std::string_view text) {
  const auto counts = ParseSizeCounts(text, "h.csv");
  EXPECT_EQ(counts.status().code(), StatusCode::kInvalidArgument) << text;
  return counts.status().message();
}

TEST(SizeCounts, LinesAreRead) {
  const auto counts = ParseSizeCounts("size,count\r\n# observed\n\n 12 , 3\n7,1\n12,2", "h.csv");
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_THAT(*counts, ElementsAre(Pair(7, 1), Pair(12, 5)));
}

TEST(SizeCounts, ErrorsNameTheLine) {
  EXPECT_EQ(ErrorOf("1,2\n3"), "h.csv:2: '3', expected SIZE,COUNT");
  EXPECT_EQ(ErrorOf("1,2\n\nx,1"), "h.csv:3: size 'x', expected a number from 1 to 1048576");
  EXPECT_EQ(ErrorOf("0,1"), "h.csv:1: size '0', expected a number from 1 to 1048576");
  EXPECT_EQ(ErrorOf("1048577,1"), "h.csv:1: size '1048577', expected a number from 1 to 1048576");
  EXPECT_EQ(ErrorOf("4,-1"), "h.csv:1: count '-1', expected a number from 1 to 8796093022207");
  EXPECT_EQ(ErrorOf("4,1,1"), "h.csv:1: count '1,1', expected a number from 1 to 8796093022207");
  EXPECT_EQ(ErrorOf("1,1\nsize,count"),
            "h.csv:2: size 'size', expected a number from 1 to 1048576");
  EXPECT_EQ(ErrorOf("4,8796093022207\n4,1"), "h.csv:2: counts of one size exceed the limit");
  EXPECT_EQ(ErrorOf("# nothing\n"), "h.csv: no sizes, expected lines SIZE,COUNT");
  EXPECT_EQ(ErrorOf("\x01,1"), "h.csv:1: size '\\x01', expected a number from 1 to 1048576");
}

TEST(SizeCounts, SizesOutsideOfTheRangeAreRefused) {
  const SizeRange range{"seq", 2, 16};
  EXPECT_TRUE(CheckSizeCounts({{2, 1}, {16, 1}}, range, "h.csv").ok());
  EXPECT_EQ(CheckSizeCounts({{2, 1}, {17, 1}}, range, "h.csv").message(),
            "h.csv: size 17, expected sizes of --dim seq=2..16");
  EXPECT_EQ(CheckSizeCounts({{1, 1}}, range, "h.csv").message(),
            "h.csv: size 1, expected sizes of --dim seq=2..16");
}

std::vector<std::int64_t> TunedSizes(const SizeRange& range) {
  std::vector<std::int64_t> sizes;
  for (const WeighedSize& size : SizesToTune(range)) {
    EXPECT_GT(size.weight, 0);
    EXPECT_LE(size.weight, 1);
    sizes.push_back(size.size);
  }
  return sizes;
}

TEST(SizeCounts, ARangeIsTunedAtFewSizes) {
  EXPECT_THAT(TunedSizes({"seq", 1, 512}), ElementsAre(1, 8, 64));
  EXPECT_THAT(TunedSizes({"seq", 1, 1048576}), ElementsAre(1, 8, 64));
  EXPECT_THAT(TunedSizes({"seq", 1, 3}), ElementsAre(1, 3));
  EXPECT_THAT(TunedSizes({"seq", 20, 30}), ElementsAre(20, 30));
  EXPECT_THAT(TunedSizes({"seq", 5, 5}), ElementsAre(5));
  EXPECT_THAT(TunedSizes({"seq", 100, 900}), ElementsAre(100));
}

TEST(SizeCounts, ObservedSizesChooseWhatIsTuned) {
  EXPECT_THAT(TunedSizes({"seq", 1, 512, {{300, 1}}}), ElementsAre(300));
  EXPECT_THAT(TunedSizes({"seq", 1, 512, {{4, 1}, {20, 1}}}), ElementsAre(4, 20));
  // Ten runs of one entry take less than one percent of the time.
  EXPECT_THAT(TunedSizes({"seq", 1, 512, {{1, 10}, {500, 10}}}), ElementsAre(64));
}

TEST(SizeCounts, WeightsAreThoseOfTheRuns) {
  const auto sizes = SizesToTune({"seq", 1, 512, {{1, 800}, {8, 100}, {128, 10}}});
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_DOUBLE_EQ(sizes[0].weight, 1);
  EXPECT_DOUBLE_EQ(sizes[1].weight, 100.0 / 800);
  EXPECT_DOUBLE_EQ(sizes[2].weight, 20.0 / 800);  // 10 runs of 128 take as long as 20 of 64
}

}  // namespace
}  // namespace tilewright
