#include "src/base/shell/quote.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(ShellQuoteTest, QuotesOnlyWhatAShellWouldChange) {
  EXPECT_EQ(ShellWord("resnet18.onnx"), "resnet18.onnx");
  EXPECT_EQ(ShellWord("resnet18.onnx#3"), "resnet18.onnx#3");
  EXPECT_EQ(ShellWord("#3"), "'#3'") << "a comment";
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("cuda -arch=sm_80"), "'cuda -arch=sm_80'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("dense(float32[1,8]MK)"), "'dense(float32[1,8]MK)'");
  EXPECT_EQ(ShellQuoted("plain"), "'plain'");
}

}  // namespace
}  // namespace tilewright
