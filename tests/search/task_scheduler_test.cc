#include "search/task_scheduler.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright::search {
namespace {

SchedulerOptions Options() {
  SchedulerOptions options;
  options.min_trials = 16;
  options.early_stop_trials = 64;
  return options;
}

/// Runs the scheduler for this many batches of 8; best(task, trials) is the best time by then.
template <typename Best>
std::vector<int> Distribute(TaskScheduler& scheduler, int tasks, int batches, Best best) {
  std::vector<int> trials(static_cast<std::size_t>(tasks), 0);
  for (int i = 0; i < batches; ++i) {
    const auto task = scheduler.Next();
    if (!task) break;
    auto& made = trials[static_cast<std::size_t>(*task)];
    made += 8;
    scheduler.Proposed(*task, 8);
    scheduler.Observe(*task, 8, best(*task, made));
  }
  return trials;
}

TEST(TaskSchedulerTest, EveryTaskGetsItsMinimumFirst) {
  TaskScheduler scheduler({{100, 1e9}, {1, 1e6}, {1, 1e6}}, Options());
  const auto trials = Distribute(scheduler, 3, 6, [](int, int) { return 1e-3; });
  EXPECT_EQ(trials, (std::vector<int>{16, 16, 16}));
}

/// Returns a task with this bound, all of it arithmetic.
ScheduledTask Bounded(double weight, double bound, std::int64_t configs = 0) {
  return {weight, 1e8, {bound, 0}, configs};
}

TEST(TaskSchedulerTest, TheFirstTrialsGoToTheTasksThatMatter) {
  TaskScheduler scheduler({Bounded(1, 1e-4), Bounded(1, 1e-3), Bounded(20, 1e-4)}, Options());
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(*scheduler.Next());
    scheduler.Proposed(order.back(), 1);
  }
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0})) << "uses x bound";
  TaskScheduler unbounded({{1, 1e6}, {1, 1e8}, {50, 1e7}}, Options());
  EXPECT_EQ(unbounded.Next(), 2) << "uses x operations";
}

TEST(TaskSchedulerTest, FewTrialsGoToUsesTimesTimeTimesHeadroom) {
  // After the first batch of each, the next one goes to the slow task far from its bound, although
  // the first one is slower.
  TaskScheduler scheduler({Bounded(1, 3.99e-3), Bounded(4, 1e-4), Bounded(1, 1e-3)}, Options());
  const auto trials = Distribute(scheduler, 3, 4, [](int task, int) {
    return std::vector{4e-3, 1.2e-4, 3e-3}[task];
  });
  EXPECT_EQ(trials, (std::vector<int>{8, 8, 16}));
}

TEST(TaskSchedulerTest, ATaskAtItsBoundGetsNoMinimum) {
  TaskScheduler scheduler({Bounded(100, 1e-3), Bounded(1, 1e-5)}, Options());
  const auto trials =
      Distribute(scheduler, 2, 6, [](int task, int) { return task == 0 ? 1.001e-3 : 1e-4; });
  EXPECT_EQ(trials[1], 16);
  EXPECT_EQ(trials[0], 32) << "the rest, as the second has its minimum and little weight";
}

TEST(TaskSchedulerTest, CountsTheTrialsUntilAllTasksStop) {
  TaskScheduler scheduler({Bounded(1, 1e-3, 40), Bounded(1, 1e-3, 1'000'000)}, Options());
  EXPECT_EQ(scheduler.TrialsUntilStale(), 40 + 64);
  scheduler.Observe(0, 8, 2e-3);
  scheduler.Observe(1, 8, 2e-3);
  EXPECT_EQ(scheduler.TrialsUntilStale(), 32 + 64);
  scheduler.Observe(1, 8, 2e-3);
  EXPECT_EQ(scheduler.TrialsUntilStale(), 32 + 56);
  scheduler.Retire(0);
  EXPECT_EQ(scheduler.TrialsUntilStale(), 56);
  SchedulerOptions endless = Options();
  endless.early_stop_trials = 0;
  EXPECT_FALSE(TaskScheduler({Bounded(1, 1e-3)}, endless).TrialsUntilStale());
}

TEST(TaskSchedulerTest, HeavyTasksGetMore) {
  TaskScheduler scheduler({{10, 1e8}, {1, 1e8}}, Options());
  const auto trials =
      Distribute(scheduler, 2, 40, [](int, int made) { return 1e-3 * (1 + 10.0 / made); });
  EXPECT_GT(trials[0], 2 * trials[1]);
  EXPECT_GE(trials[1], 16);
}

TEST(TaskSchedulerTest, TasksThatStillImproveGetMore) {
  TaskScheduler scheduler({{1, 1e8}, {1, 1e8}}, Options());
  const auto trials = Distribute(scheduler, 2, 40, [](int task, int made) {
    return task == 0 ? 1e-3 : 1e-3 * (1 + 60.0 / made);
  });
  EXPECT_GT(trials[1], trials[0]);
}

TEST(TaskSchedulerTest, TasksFarFromTheBestRateGetMore) {
  TaskScheduler scheduler({{1, 1e8}, {1, 1e8}}, Options());
  // The same work in twice the time has more to gain, even without improvement so far.
  const auto trials =
      Distribute(scheduler, 2, 40, [](int task, int) { return task == 0 ? 1e-3 : 2e-3; });
  EXPECT_GT(trials[1], trials[0]);
}

TEST(TaskSchedulerTest, ATaskWithoutAnyWorkingConfigIsNotForgotten) {
  TaskScheduler scheduler({{1, 1e8}, {1, 1e8}}, Options());
  const auto trials =
      Distribute(scheduler, 2, 20, [](int task, int) { return task == 0 ? 1e-3 : 0.0; });
  EXPECT_GT(trials[1], trials[0]);
}

TEST(TaskSchedulerTest, RetiredTasksGetNothing) {
  TaskScheduler scheduler({{1, 1e8}, {1, 1e8}}, Options());
  scheduler.Retire(0);
  EXPECT_EQ(scheduler.Next(), 1);
  scheduler.Retire(1);
  EXPECT_FALSE(scheduler.Next());
}

TEST(TaskSchedulerTest, IsStaleWithoutImprovementWorthTheName) {
  TaskScheduler scheduler({{1, 1e8}}, Options());
  Distribute(scheduler, 1, 4, [](int, int made) { return 1e-3 / made; });
  EXPECT_FALSE(scheduler.Stale(0));
  Distribute(scheduler, 1, 7, [](int, int) { return 1e-3 / 32; });
  EXPECT_FALSE(scheduler.Stale(0));
  Distribute(scheduler, 1, 1, [](int, int) { return 1e-3 / 32 * 0.995; });
  EXPECT_TRUE(scheduler.Stale(0));
  Distribute(scheduler, 1, 1, [](int, int) { return 1e-3 / 40; });
  EXPECT_FALSE(scheduler.Stale(0));
}

// A Winograd convolution executes a quarter of the products. Counted by the definition's products,
// it would exceed the peak of the machine four times, and all other tasks would seem to have
// potential.
TEST(TaskSchedulerTest, RatesAreOfTheOperationsThatTheBestExecutes) {
  const auto gain_of_the_other = [](double product_share) {
    TaskScheduler scheduler({{1, 1e8}, {1, 1e8}}, Options());
    scheduler.Proposed(0, 8);
    scheduler.Observe(0, 8, 2.5e-4, product_share);
    scheduler.Proposed(1, 8);
    scheduler.Observe(1, 8, 1e-3);
    return scheduler.Gain(1);
  };
  EXPECT_LT(gain_of_the_other(0.25), 0.2 * gain_of_the_other(1));
}

}  // namespace
}  // namespace tilewright::search
