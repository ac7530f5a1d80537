#include "src/base/printable.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(PrintableTest, WhatATerminalObeysIsEscaped) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", ""},
      {"CC0-1.0", "CC0-1.0"},
      {"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},  // the eight-bit CSI
      {"\x9b"
       "31m",
       "\\x9b31m"},  // the same byte alone is not UTF-8
      {"M\xc3\xbcller \xe2\x82\xac", "M\xc3\xbcller \xe2\x82\xac"},
      {"\xe2\x80\xae"
       "evil",
       "\\u202eevil"},  // reverses the direction of the line
      {"\xd8\x9c\xe2\x80\x8f\xe2\x81\xa6", "\\u061c\\u200f\\u2066"},
      {"a\xe2\x80\xa8"
       "b\xe2\x80\xa9",
       "a\\u2028b\\u2029"},                            // line ends
      {"\xef\xbb\xbf\xe2\x80\x8b", "\\ufeff\\u200b"},  // zero width
      {"\xf3\xa0\x81\xa1", "\\U000e0061"},             // a tag
      {"\xf0\x9f\x99\x82", "\xf0\x9f\x99\x82"},
      {"cut \xe2\x82", "cut \\xe2\\x82"},
      {"\xc0\xaf", "\\xc0\\xaf"},
      {"\xe0\x80\x8a", "\\xe0\\x80\\x8a"},  // a line end in an overlong encoding
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // half of a UTF-16 surrogate pair
  };
  for (const auto& [text, shown] : kCases) {
    EXPECT_EQ(Printable(text), shown);
    EXPECT_EQ(Printable(Printable(text)), shown);
    EXPECT_EQ(IsPrintable(text), std::string_view(text) == shown);
  }
  EXPECT_EQ(Printable("a\nb\tc\x1b", true), "a\nb\tc\\x1b");
}

TEST(PrintableTest, EscapedJsonIsTheSameValueAndObeysNothing) {
  const std::string json = "{\"a\": \"\x7f \xc2\x9b 5m \xe2\x80\xae \xc3\xa9 \xf3\xa0\x81\xa1\"}\n";
  EXPECT_EQ(EscapeControls(json),
            "{\"a\": \"\\u007f \\u009b 5m \\u202e \xc3\xa9 \\udb40\\udc61\"}\n");
}

}  // namespace
}  // namespace tilewright
