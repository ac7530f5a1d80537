#include "tests/docs/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/docs/output_match.h"

namespace tilewright::docs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DocsParserTest, BlocksHaveTheirMarkers) {
  const auto page =
      ParsePage("p.md",
                "Text\n<!-- test: vary, exit 1 -->\n```console\n$ a \\\n  b\nout\n$ c\n"
                "```\n<!-- test: setup\nx\n-->\n<!-- test: file f.tw -->\n```tw\nS\n```\n");
  ASSERT_TRUE(page.ok()) << page.status().message();
  ASSERT_EQ(page->blocks.size(), 3u);
  EXPECT_TRUE(page->blocks[0].vary);
  EXPECT_EQ(page->blocks[0].exit_code, 1);
  const auto commands = CommandsOf(page->blocks[0]);
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0].text, "a \\\n  b");
  EXPECT_EQ(commands[0].line, 4);
  EXPECT_THAT(commands[0].output, ElementsAre("out"));
  EXPECT_EQ(commands[1].text, "c");
  EXPECT_EQ(CommandsOf(page->blocks[1])[0].text, "x");
  EXPECT_EQ(page->blocks[2].file, "f.tw");
}

TEST(DocsParserTest, UnknownMarkersAndOpenBlocksAreErrors) {
  for (const char* text :
       {"<!-- test: skip because -->\n```console\n```\n", "<!-- test: later -->\n",
        "```console\n$ a\n", "<!-- test: setup\na\n", "<!-- test: vary\n"}) {
    const auto page = ParsePage("p.md", text);
    ASSERT_FALSE(page.ok()) << text;
    EXPECT_THAT(page.status().message(), HasSubstr("p.md:")) << text;
  }
}

TEST(DocsOutputTest, DotsMatchTextAndLines) {
  EXPECT_TRUE(OutputMatches({"a ... c"}, {"a  b  c"}, false));
  EXPECT_TRUE(OutputMatches({"a...", "...", "z"}, {"abc", "1", "2", "z"}, false));
  EXPECT_TRUE(OutputMatches({"...", "z"}, {"z", ""}, false));
  EXPECT_FALSE(OutputMatches({"a", "..."}, {"b"}, false));
  EXPECT_FALSE(OutputMatches({"a"}, {"a", "b"}, false));
}

TEST(DocsOutputTest, NumbersVaryOnlyIfAsked) {
  EXPECT_EQ(NormalizedLine("  1,814.5 us  2.39 ms 1e-5 f32 v4", true), "# s # s # f32 v4");
  EXPECT_TRUE(OutputMatches({"12 ms, 3 tasks"}, {"7.5 us, 4 tasks"}, true));
  EXPECT_FALSE(OutputMatches({"12 ms"}, {"13 ms"}, false));
  EXPECT_FALSE(OutputMatches({"12 tasks"}, {"12 trials"}, true));
}

}  // namespace
}  // namespace tilewright::docs
