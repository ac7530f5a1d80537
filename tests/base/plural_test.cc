#include "src/base/text/plural.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(PluralTest, OneHasNoPlural) {
  EXPECT_EQ(Counted(1, "task"), "1 task");
  EXPECT_EQ(Counted(0, "task"), "0 tasks");
  EXPECT_EQ(Counted(12, "log entry"), "12 log entries");
  EXPECT_EQ(Counted(2, "key"), "2 keys");
  EXPECT_EQ(Counted(2, "process"), "2 processes");
  EXPECT_EQ(Counted(2, "batch"), "2 batches");
  EXPECT_EQ(Counted(1, "library"), "1 library");
  EXPECT_EQ(NounFor(-1, "point"), "points");
}

}  // namespace
}  // namespace tilewright
