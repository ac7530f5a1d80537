#include "src/report/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/set_clock.h"

namespace tilewright::report {
namespace {

using testing::HasSubstr;

TEST(ProgressTest, WhatIsDoneInASecondSaysNothing) {
  SetClock clock;
  testing::internal::CaptureStderr();
  {
    Progress progress("compile", /*terminal=*/true, clock);
    clock.now = 0.9;
    progress.Update(1, 2, "conv2d");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressTest, ATerminalHasABarThatGoesAway) {
  SetClock clock;
  testing::internal::CaptureStderr();
  {
    Progress progress("compile", /*terminal=*/true, clock);
    clock.now = 2;
    progress.Update(1, 4, "conv2d \x1b[31m");
    progress.Update(2, 4, "not so soon");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "\r\x1b[?7l\x1b[Kcompile [######..................] 25 %  eta 6s  conv2d "
            "\\x1b[31m\n\x1b[J\x1b[?7h\r\x1b[1A\x1b[K\n\r\x1b[1A");
}

TEST(ProgressTest, ALogHasALineNowAndThen) {
  SetClock clock;
  testing::internal::CaptureStderr();
  {
    Progress progress("import", /*terminal=*/false, clock);
    for (int i = 0; i < 25; ++i) {
      clock.now = i;
      progress.Update(1000 * i, 0, "records");
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "import: 1000  records\nimport: 11000  records\nimport: 21000  records\n");
}

}  // namespace
}  // namespace tilewright::report
