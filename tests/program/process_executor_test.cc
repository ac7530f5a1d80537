// An executor with real builders: its artifacts, and its isolation of other jobs' orders.

#include "measure/fleet/process_executor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/templates/registry.h"
#include "tests/fleet/fake_fleet.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure::fleet {
namespace {

Order OrderToBuild(int task) {
  const TemplateRegistry templates = TemplateRegistry::BuiltIn();
  Order order;
  order.stage = Stage::kBuild;
  Candidate candidate = FakeCandidate(0, task);
  const TemplateEntry* entry =
      templates.For(candidate.task.workload, candidate.task.target).front();
  candidate.template_key = entry->key;
  candidate.template_version = entry->version;
  candidate.config = *entry->default_config(candidate.task.workload, candidate.task.target);
  order.candidates = {candidate};
  return order;
}

std::unique_ptr<ProcessExecutor> MakeBuilders() {
  ProcessMeasurerSettings settings = TestSettings();
  settings.builders = 1;
  settings.runner.calibrate = false;
  auto executor = ProcessExecutor::Create(settings, [] {});
  TW_CHECK(executor.ok(), executor.status().message());
  return *std::move(executor);
}

Executor::Event NextEvent(ProcessExecutor& executor) {
  SystemClock clock;
  constexpr int kPolls = 12'000;
  for (int i = 0; i < kPolls; ++i) {
    for (Executor::Event& event : executor.Take()) {
      if (event.over) return std::move(event);
    }
    clock.SleepSeconds(0.01);
  }
  ADD_FAILURE() << "no event came";
  return {};
}

TEST(ProcessBenchTest, TheSameKernelIsTheSameBytesWhereverItIsBuilt) {
  const auto one = MakeBuilders(), other = MakeBuilders();
  one->Start(1, OrderToBuild(2), {});
  ASSERT_TRUE(NextEvent(*one).built) << "of another task, so that the next file has another name";
  one->Start(2, OrderToBuild(1), {});
  other->Start(7, OrderToBuild(1), {});
  const Executor::Event first = NextEvent(*one), second = NextEvent(*other);
  ASSERT_TRUE(first.built) << first.refusal;
  ASSERT_TRUE(second.built) << second.refusal;
  EXPECT_EQ(first.built->hash, second.built->hash);
  EXPECT_EQ(first.built->kernel.symbol, kCandidateSymbol);
}

TEST(ProcessBenchTest, ProcessesAreStartedAnewAfterManyTasks) {
  const auto executor = MakeBuilders();
  executor->SetLimits({.max_tasks = 2});
  for (int task = 1; task <= 2; ++task) {
    executor->Start(static_cast<std::uint64_t>(task), OrderToBuild(task), {});
    ASSERT_TRUE(NextEvent(*executor).built);
  }
  const std::vector<int> before = executor->measurer().worker_pids();
  executor->Start(3, OrderToBuild(1), {});
  executor->Start(4, OrderToBuild(3), {});  // while one is in progress
  EXPECT_THAT(NextEvent(*executor).refusal, testing::HasSubstr("starts its processes anew"));
  executor->Start(5, OrderToBuild(1), {});
  EXPECT_THAT(NextEvent(*executor).refusal, testing::HasSubstr("starts its processes anew"));
  ASSERT_TRUE(NextEvent(*executor).built) << "what was under way is done";
  executor->Start(6, OrderToBuild(3), {});
  ASSERT_TRUE(NextEvent(*executor).built);
  for (const int pid : executor->measurer().worker_pids()) {
    EXPECT_THAT(before, testing::Not(testing::Contains(pid)));
  }
}

TEST(ProcessBenchTest, WhatWasDroppedCounts) {
  const auto executor = MakeBuilders();
  executor->SetLimits({.max_orders = 2});
  for (std::uint64_t number = 1; number <= 2; ++number) {
    executor->Start(number, OrderToBuild(1), {});
    executor->Drop(number);
  }
  executor->Start(3, OrderToBuild(1), {});
  EXPECT_THAT(NextEvent(*executor).refusal, testing::HasSubstr("orders under way"));
}

TEST(ProcessBenchTest, IfItsProcessesCannotBeStartedAnewItRefusesEverything) {
  // Descriptors below the limit are taken: those of the executor are above it, and none of them
  // becomes free.
  constexpr int kFew = 16;
  std::vector<int> taken;
  do {
    taken.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_GE(taken.back(), 0);
  } while (taken.back() < kFew);
  const auto executor = MakeBuilders();
  executor->SetLimits({.max_tasks = 1});
  executor->Start(1, OrderToBuild(1), {});
  ASSERT_TRUE(NextEvent(*executor).built);
  const Order second = OrderToBuild(2), third = OrderToBuild(3);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = kFew;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  executor->Start(2, second, {});
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const int fd : taken) ::close(fd);
  EXPECT_EQ(executor->status().code(), StatusCode::kUnavailable);
  executor->Start(3, third, {});
  const auto events = executor->Take();
  ASSERT_EQ(events.size(), 2u);
  for (const Executor::Event& event : events)
    EXPECT_EQ(event.refusal, executor->status().message());
  EXPECT_EQ(executor->probe_seconds(), 0);
  // Removes the folders that could not be removed without descriptors.
  for (const char* root : {"/dev/shm", "/tmp"}) LockedTempDir::RemoveAbandoned(root);
}

}  // namespace
}  // namespace tilewright::measure::fleet
