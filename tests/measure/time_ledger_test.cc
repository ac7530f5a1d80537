#include "measure/supervisor/time_ledger.h"

#include <gtest/gtest.h>

namespace tilewright::measure {
namespace {

TEST(TimeLedger, EverySecondIsCountedWhereItBelongs) {
  TimeLedger ledger(100);
  ledger.Set(101, /*running=*/false, /*building=*/false, /*preparing=*/true);   // 1 s idle
  ledger.Set(103, /*running=*/false, /*building=*/true, /*preparing=*/false);   // 2 s preparing
  ledger.Set(106, /*running=*/true, /*building=*/true, /*preparing=*/false);    // 3 s building
  ledger.Set(110, /*running=*/true, /*building=*/false, /*preparing=*/false);   // 4 s both
  ledger.Set(115, /*running=*/false, /*building=*/false, /*preparing=*/false);  // 5 s running
  ledger.AddTiming(2.5);
  const TimeSplit split = ledger.At(121);  // 6 s idle
  EXPECT_DOUBLE_EQ(split.wall_seconds, 21);
  EXPECT_DOUBLE_EQ(split.idle_seconds, 7);
  EXPECT_DOUBLE_EQ(split.builder_busy_seconds, 7);
  EXPECT_DOUBLE_EQ(split.runner_busy_seconds, 9);
  EXPECT_DOUBLE_EQ(split.runner_timing_seconds, 2.5);
}

TEST(TimeLedger, LookingChangesNothing) {
  TimeLedger ledger(0);
  ledger.Set(0, true, false, false);
  EXPECT_DOUBLE_EQ(ledger.At(5).runner_busy_seconds, 5);
  EXPECT_DOUBLE_EQ(ledger.At(5).runner_busy_seconds, 5);
}

}  // namespace
}  // namespace tilewright::measure
