#include "search/tune/budget.h"

#include <gtest/gtest.h>

#include "tests/support/set_clock.h"

namespace tilewright::search {
namespace {

TEST(BudgetTest, TrialsAreALimitOverAllRuns) {
  SetClock clock(100);
  JobSettings settings;
  settings.trials = 4;
  settings.budget_seconds = 0;
  auto budget = Budget::Start(settings, clock, 1);
  ASSERT_TRUE(budget.ok());
  budget->CountProposed(2);
  budget->CountTrial(/*this_run=*/false);
  EXPECT_EQ(budget->proposals_left(), 2);
  EXPECT_EQ(budget->LimitReached(), "");
  EXPECT_EQ(budget->EtaSeconds(), 0) << "nothing is known of this run";
  clock.now += 3;
  budget->CountTrial(/*this_run=*/true);
  EXPECT_EQ(budget->trials(), 2);
  EXPECT_EQ(budget->trials_this_run(), 1);
  EXPECT_EQ(budget->EtaSeconds(), 6 + 5 * kRacerSeconds) << "with the race of 5 configs";
  budget->SetRacers(2);
  EXPECT_EQ(budget->EtaSeconds(), 6 + 2 * kRacerSeconds);
  EXPECT_EQ(budget->EtaSeconds(/*until_stale=*/1), 3 + 2 * kRacerSeconds) << "ends earlier";
  EXPECT_FALSE(budget->TrialsSpent(1));
  EXPECT_TRUE(budget->TrialsSpent(2));
  budget->CountProposed(2);
  EXPECT_EQ(budget->LimitReached(), "trials");
}

TEST(BudgetTest, TimeIsCountedOverAllRunsAndReservedForRaces) {
  SetClock clock(100);
  JobSettings settings;
  settings.trials = 0;
  settings.budget_seconds = 100;
  settings.finalists = 9;
  auto budget = Budget::Start(settings, clock, 2);
  ASSERT_TRUE(budget.ok());
  budget->AddEarlierRun(30);
  budget->AddEarlierRun(20);
  EXPECT_EQ(budget->ElapsedSeconds(), 30);
  EXPECT_EQ(budget->LimitSeconds(), 100);
  const double reserve = 20 * kRacerSeconds;
  EXPECT_EQ(budget->EtaSeconds(), 70) << "search and races";
  clock.now += 69 - reserve;
  EXPECT_FALSE(budget->TimeSpent());
  clock.now += 2;
  EXPECT_TRUE(budget->TimeSpent());
  EXPECT_EQ(budget->LimitReached(), "budget");
  EXPECT_DOUBLE_EQ(budget->RaceShare(2), (reserve - 1) / 2);
  clock.now += 1000;
  EXPECT_EQ(budget->RaceShare(2), 0);
}

TEST(BudgetTest, PreparingTheDeviceCounts) {
  SetClock clock(100);
  JobSettings settings;
  settings.budget_seconds = 30;
  auto budget = Budget::Start(settings, clock, 1, /*begun_seconds=*/96);
  ASSERT_TRUE(budget.ok());
  EXPECT_EQ(budget->ElapsedSeconds(), 4);
  budget->AddEarlierRun(20);
  EXPECT_EQ(budget->EtaSeconds(), 6);
}

TEST(BudgetTest, TimeThatRacesDoNotNeedIsTheSearchs) {
  SetClock clock;
  JobSettings settings;
  settings.budget_seconds = 100;
  settings.finalists = 4;
  auto budget = Budget::Start(settings, clock, 20);
  ASSERT_TRUE(budget.ok());
  clock.now = 80;
  EXPECT_TRUE(budget->TimeSpent()) << "20 races of 5 configs may need a quarter of the time";
  budget->SetRacers(2);
  EXPECT_FALSE(budget->TimeSpent());
  clock.now = 100 - 2 * kRacerSeconds;
  EXPECT_TRUE(budget->TimeSpent());
}

TEST(BudgetTest, TheForecastIsOfTheLastTrials) {
  SetClock clock;
  JobSettings settings;
  settings.budget_seconds = 8 * 3600;
  settings.finalists = 0;
  auto budget = Budget::Start(settings, clock, 1);
  ASSERT_TRUE(budget.ok());
  clock.now = 1000;  // builders start
  for (int i = 0; i < 200; ++i) {
    clock.now += 0.5;
    budget->CountTrial(/*this_run=*/true);
  }
  EXPECT_DOUBLE_EQ(budget->EtaSeconds(/*until_stale=*/100), 50) << "not 8 hours";
  EXPECT_EQ(budget->EtaSeconds(), 8 * 3600 - 1100);
}

TEST(BudgetTest, ADeadlineLimitsThisRun) {
  SetClock clock(0);
  JobSettings settings;
  settings.trials = 0;
  settings.budget_seconds = 0;
  settings.finalists = 0;
  settings.deadline = "60s";
  auto budget = Budget::Start(settings, clock, 1);
  ASSERT_TRUE(budget.ok()) << budget.status().message();
  budget->AddEarlierRun(500);
  EXPECT_EQ(budget->LimitSeconds(), 560);
  EXPECT_FALSE(budget->TimeSpent());
  clock.now = 60;
  EXPECT_EQ(budget->LimitReached(), "deadline");
  settings.deadline = "1970-01-01T00:00:01Z";
  EXPECT_EQ(Budget::Start(settings, clock, 1).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilewright::search
