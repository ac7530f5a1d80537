#include "src/graph/open/size_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::HasSubstr;

TEST(SizeRange, IsParsedAndPrinted) {
  const auto range = ParseSizeRange("a=b=3..17");
  ASSERT_TRUE(range.ok() && range->has_value());
  EXPECT_EQ((*range)->name, "a=b");
  EXPECT_EQ((*range)->least, 3);
  EXPECT_EQ((*range)->most, 17);
  EXPECT_EQ((*range)->ToString(), "a=b=3..17");
}

TEST(SizeRange, OtherTextsAreNone) {
  for (const char* text : {"batch=7", "batch", "", "=1..2", "a..b=3"}) {
    const auto range = ParseSizeRange(text);
    ASSERT_TRUE(range.ok()) << text;
    EXPECT_FALSE(range->has_value()) << text;
  }
}

TEST(SizeRange, BoundsAreChecked) {
  for (const char* text : {"b=0..4", "b=-1..4", "b=4..3", "b=1..1048577", "b=..4", "b=1..",
                           "b=1..x", "b=1..99999999999999999999"}) {
    const auto range = ParseSizeRange(text);
    EXPECT_EQ(range.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(range.status().message(), HasSubstr(std::string("--dim ") + text));
  }
}

}  // namespace
}  // namespace tilewright
