#include "src/base/shell/split.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using Words = std::vector<std::string>;

TEST(SplitCommandLineTest, SplitsAtBlanksAndReadsQuotes) {
  EXPECT_EQ(*SplitCommandLine("a  b\tc\n"), (Words{"a", "b", "c"}));
  EXPECT_EQ(*SplitCommandLine(R"(a 'b c' "d \"e\"" f\ g '' h'i'j)"),
            (Words{"a", "b c", "d \"e\"", "f g", "", "hij"}));
  EXPECT_EQ(*SplitCommandLine("x{a} '{b | c}'"), (Words{"x{a}", "{b | c}"}));
}

TEST(SplitCommandLineTest, RejectsWhatOnlyAShellFollows) {
  EXPECT_EQ(SplitCommandLine("a | b").status().message(),
            "command: '|' at character 3 is for a shell, expected --shell with it");
  EXPECT_FALSE(SplitCommandLine("a > b").ok());
  EXPECT_FALSE(SplitCommandLine("$HOME").ok());
  EXPECT_EQ(SplitCommandLine("a 'b").status().message(), "command: expected another ' at its end");
  EXPECT_EQ(SplitCommandLine("  ").status().message(), "command: it is empty, expected a program");
}

}  // namespace
}  // namespace tilewright
