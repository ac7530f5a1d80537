#include "src/base/printable.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(PrintableTest, WhatATerminalObeysIsShownAsAQuestionMark) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", ""},
      {"CC0-1.0", "CC0-1.0"},
      {"\x1b]0;title\x07", "?]0;title?"},
      {"a\nb\tc\rd", "a?b?c?d"},
      {"\x7f", "?"},
      {"\xc2\x9b"
       "31m",
       "?31m"},  // U+009B, the eight-bit CSI
      {"\x9b"
       "31m",
       "?31m"},  // the same byte alone is no UTF-8
      {"M\xc3\xbcller \xe2\x82\xac", "M\xc3\xbcller \xe2\x82\xac"},
      {"\xe2\x80\xae"
       "evil",
       "?evil"},  // turns the line around
      {"\xf0\x9f\x99\x82", "\xf0\x9f\x99\x82"},
      {"cut \xe2\x82", "cut ??"},
      {"\xc0\xaf", "??"},
  };
  for (const auto& [text, shown] : kCases) {
    EXPECT_EQ(Printable(text), shown);
    EXPECT_EQ(IsPrintable(text), std::string_view(text) == shown);
  }
  EXPECT_EQ(Printable("a\nb\tc\x1b", true), "a\nb\tc?");
}

TEST(PrintableTest, EscapedJsonIsTheSameValueAndObeysNothing) {
  const std::string json = "{\"a\": \"\x7f \xc2\x9b 5m \xe2\x80\xae \xc3\xa9\"}\n";
  EXPECT_EQ(EscapeControls(json), "{\"a\": \"\\u007f \\u009b 5m \\u202e \xc3\xa9\"}\n");
}

}  // namespace
}  // namespace tilewright
