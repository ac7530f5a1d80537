#include "src/session/text_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "src/base/text/text_columns.h"

namespace tilewright::session {
namespace {

/// Checks that no line of a text is wider than `width`.
void ExpectFits(const std::string& text, int width = kTextWidth) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(Columns(line), width) << line;
}

TEST(TextTableTest, ColumnsAreAsWideAsTheirCells) {
  TextTable table({{"task"}, {"time", true}});
  table.AddRow({"conv2d", "1.5 µs"});
  table.AddRow({"a", "120.0 µs"});
  EXPECT_EQ(table.Take(),
            "task        time\n"
            "conv2d    1.5 µs\n"
            "a       120.0 µs\n");
}

TEST(TextTableTest, CutsTheColumnsThatMayBe) {
  TextTable table({{"#", true}, {"task", false, 10}, {"template", false, 4}}, 40);
  table.AddRow({"1", std::string(40, 'x'), std::string(30, 'y')});
  const std::string text = table.Take();
  ExpectFits(text, 40);
  EXPECT_NE(text.find("x…"), std::string::npos) << text;
  EXPECT_NE(text.find("y…"), std::string::npos) << text;
}

TEST(TextTableTest, PartsHaveOneHeaderAndTheSameWidths) {
  TextTable table({{"a"}, {"b"}});
  EXPECT_EQ(table.Take(), "") << "no rows, no header";
  table.AddRow({"long cell", "1"});
  table.AddLines("  a line of its own");
  EXPECT_EQ(table.Take(), "a          b\nlong cell  1\n  a line of its own\n");
  table.AddRow({"x", "2"});
  EXPECT_EQ(table.Take(), "x          2\n");
}

TEST(TextTableTest, CountsCharactersAndNotBytes) {
  EXPECT_EQ(Columns("µs"), 2);
  EXPECT_EQ(CutToColumns("µµµµ", 3), "µµ…");
  EXPECT_EQ(CutToColumns("abc", 3), "abc");
  EXPECT_EQ(CutToColumns("abc", 0), "");
}

TEST(TextTableTest, ParagraphsAreAsWideAsTheTerminal) {
  const std::string text = "aaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbb cc";
  EXPECT_EQ(WrapText("", text), text) << "no terminal";
  SetTextWidth(50);
  EXPECT_EQ(WrapText("", text), text.substr(0, 50) + "\n  cc");
  SetTextWidth(10);
  EXPECT_EQ(TextWidth(), 40) << "the least";
  SetTextWidth(500);
  EXPECT_EQ(TextWidth(), 100) << "the most";
  SetTextWidth(0);
  EXPECT_EQ(TextWidth(), kTextWidth);
}

TEST(TextTableTest, BreaksLongLinesThatAreNotIndented) {
  EXPECT_EQ(WrapLines("one two three\n  one two three\n\nfour\n", 8),
            "one two\n  three\n  one two three\n\nfour\n");
  EXPECT_EQ(WrapLines("", 8), "");
  EXPECT_EQ(WrapLines("\n", 8), "\n");
}

TEST(TextTableTest, BreaksTextAtBlanks) {
  EXPECT_EQ(WrapText("why  ", "one two three four", 14, 5), "why  one two\n     three\n     four");
  EXPECT_EQ(WrapText("", "short"), "short");
  EXPECT_EQ(WrapText("", "a " + std::string(30, 'x') + " b", 10, 2),
            "a\n  " + std::string(30, 'x') + "\n  b");
}

TEST(TextTableTest, NamesFillTheLinesAndTheOthersAreCounted) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("stage" + std::to_string(i) + "_conv");
  const std::string two = NameLines(names, 2);
  ExpectFits(two);
  EXPECT_NE(two.find(", and 30 more"), std::string::npos) << two;
  EXPECT_EQ(std::count(two.begin(), two.end(), '\n'), 1);
  EXPECT_EQ(NameLines({"a", "b"}, 2), "  a, b");
  const std::string all = NameLines(names, 10);
  ExpectFits(all);
  EXPECT_NE(all.find("stage39_conv"), std::string::npos);
}

TEST(TextTableTest, WithoutAWidthNothingIsCut) {
  const std::string name(200, 'x');
  TextTable table({{"task", false, 10}, {"time", true}});
  table.set_width(0);
  table.AddRow({name, "1"});
  EXPECT_EQ(table.Take().find("…"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::session
