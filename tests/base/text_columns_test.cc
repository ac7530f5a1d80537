#include "src/base/text/text_columns.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(TextColumnsTest, CountsColumnsNotBytes) {
  EXPECT_EQ(Columns(""), 0);
  EXPECT_EQ(Columns("conv2d"), 6);
  EXPECT_EQ(Columns("12.3 µs …"), 9);
  EXPECT_EQ(Columns("模型"), 4);
  EXPECT_EQ(Columns("e\u0301"), 1) << "an accent is drawn over its letter";
  EXPECT_EQ(Columns("\U0001f680"), 2);
  EXPECT_EQ(Columns("\xff\xfe"), 2) << "not UTF-8";
}

TEST(TextColumnsTest, CutsBetweenCharacters) {
  EXPECT_EQ(CutToColumns("conv2d", 6), "conv2d");
  EXPECT_EQ(CutToColumns("conv2d", 5), "conv…");
  EXPECT_EQ(CutToColumns("模型模型", 5), "模型…");
  EXPECT_EQ(CutToColumns("模型模型", 4), "模…");
  EXPECT_EQ(CutToColumns("ab", 1), "…");
  EXPECT_EQ(CutToColumns("ab", 0), "");
  for (int columns = 0; columns < 12; ++columns) {
    EXPECT_LE(Columns(CutToColumns("µ模型e\u0301\xffxyz", columns)), columns);
    EXPECT_EQ(Columns(PadToColumns("µ模型e\u0301\xffxyz", columns)), columns);
    EXPECT_EQ(Columns(PadLeftToColumns("µ模", columns)), columns);
  }
}

TEST(TextColumnsTest, WrapsBetweenWords) {
  EXPECT_EQ(WrapToColumns("one two three", 8, 2), (std::vector<std::string>{"one two", "  three"}));
  EXPECT_EQ(WrapToColumns("a  very_long_word b", 6),
            (std::vector<std::string>{"a", "very_long_word", "b"}));
  EXPECT_TRUE(WrapToColumns("", 8).empty());
}

}  // namespace
}  // namespace tilewright
