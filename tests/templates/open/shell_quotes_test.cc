#include "src/templates/open/shell_quotes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tilewright {
namespace {

/// Finds the place in a text in which '@' is a value.
UnsafeValue Find(std::string text) {
  std::ranges::replace(text, '@', '\0');
  return FindUnsafeValue(text);
}

TEST(ShellQuotesTest, TakesValuesOutsideOfQuotes) {
  for (const char* text : {"./b @ | cat", "'a'@'b' \"c\"@", "echo \"it's\" @", "echo 'say \"' @",
                           "echo a#b @", "# it's\n./b @", "x=\"$(nproc)\" y=\"${HOME}/a\" ./b @",
                           "echo \\' @ \\\" @", "for i in $(seq @); do ./b @ $((1 << @)); done"}) {
    EXPECT_EQ(Find(text).place, ShellPlace::kPlain) << text;
  }
}

TEST(ShellQuotesTest, NamesTheValueInQuotes) {
  for (const char* text : {"./b '@'", "./b \"@\"", "echo \"a\\\" @\"", "./b \\@", "# @\n",
                           "x=`./b @`", "# it's\n./b '@'", "\"$(./b @)\"", "echo 'a\\' '@'"}) {
    EXPECT_NE(Find(text).place, ShellPlace::kPlain) << text;
  }
  EXPECT_EQ(Find("./b '@'").place, ShellPlace::kQuoted);
  EXPECT_EQ(Find("./b @ @ \"@\"").number, 2U);
}

TEST(ShellQuotesTest, IsUnsureAfterWhatItDoesNotFollow) {
  for (const char* text : {"cat <<END\n@\nEND", "echo $'\\'' @", "echo \"$(echo \"@\")\"",
                           "echo \"${a:-\"@\"}\"", "echo \"`echo \"@\"`\"", "echo $@"}) {
    EXPECT_EQ(Find(text).place, ShellPlace::kUnsure) << text;
  }
}

}  // namespace
}  // namespace tilewright
