#include "src/runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace tilewright {
namespace {

/// Counts how often each iteration ran, and on which workers.
struct Ledger {
  explicit Ledger(std::int64_t count) : runs(static_cast<std::size_t>(count)) {}
  std::vector<std::atomic<int>> runs;
  std::atomic<int> calls{0};
  std::atomic<int> highest_worker{0};
  std::int32_t result = 0;
};

std::int32_t Count(void* closure, std::int64_t begin, std::int64_t end, std::int32_t worker) {
  auto* ledger = static_cast<Ledger*>(closure);
  for (std::int64_t i = begin; i < end; ++i) ++ledger->runs[static_cast<std::size_t>(i)];
  ++ledger->calls;
  int seen = ledger->highest_worker;
  while (seen < worker && !ledger->highest_worker.compare_exchange_weak(seen, worker)) {
  }
  return worker == 1 ? ledger->result : 0;
}

std::int32_t Launch(const ThreadPool& pool, Ledger& ledger) {
  const TwParallel* parallel = pool.parallel();
  return parallel->launch(parallel->context, &Count, &ledger,
                          static_cast<std::int64_t>(ledger.runs.size()));
}

ThreadPool MakePool(int threads) {
  Result<ThreadPool> pool = ThreadPool::Create(threads);
  TW_CHECK(pool.ok(), pool.status().message());
  return std::move(*pool);
}

TEST(ThreadPoolTest, RunsEveryIterationOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadPool pool = MakePool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {0, 1, 2, 3, 7, 100}) {
      Ledger ledger(count);
      EXPECT_EQ(Launch(pool, ledger), 0);
      for (const auto& runs : ledger.runs) EXPECT_EQ(runs, 1);
      EXPECT_LE(ledger.calls, threads);
      EXPECT_LT(ledger.highest_worker, threads);
    }
  }
}

TEST(ThreadPoolTest, SurvivesManyLaunches) {
  const ThreadPool pool = MakePool(2);
  Ledger ledger(5);
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(Launch(pool, ledger), 0);
  for (const auto& runs : ledger.runs) EXPECT_EQ(runs, 20000);
}

TEST(ThreadPoolTest, WakesWorkersThatSleep) {
  TwPoolOptions options = TwPoolDefaults(3);
  options.spin_nanoseconds = 0;
  TwPool* pool = TwPoolCreate(&options);
  ASSERT_NE(pool, nullptr);
  const TwParallel* parallel = TwPoolParallel(pool);
  Ledger ledger(3);
  for (int i = 0; i < 2000; ++i) parallel->launch(parallel->context, &Count, &ledger, 3);
  TwPoolDestroy(pool);
  for (const auto& runs : ledger.runs) EXPECT_EQ(runs, 2000);
}

TEST(ThreadPoolTest, ReturnsTheCodeOfAPartThatFailed) {
  const ThreadPool pool = MakePool(2);
  Ledger ledger(2);
  ledger.result = 42;
  EXPECT_EQ(Launch(pool, ledger), 42);
  ledger.result = 0;
  EXPECT_EQ(Launch(pool, ledger), 0);
}

TEST(ThreadPoolTest, ServesSeveralLaunchersAndNestedLaunches) {
  const ThreadPool pool = MakePool(3);
  struct Nested {
    const ThreadPool* pool;
    Ledger* inner;
  };
  Ledger inner(4);
  Nested nested{&pool, &inner};
  const TwParallelBody body = [](void* closure, std::int64_t begin, std::int64_t end,
                                 std::int32_t) -> std::int32_t {
    const auto* outer = static_cast<Nested*>(closure);
    for (std::int64_t i = begin; i < end; ++i) Launch(*outer->pool, *outer->inner);
    return 0;
  };
  std::vector<std::thread> launchers;
  for (int t = 0; t < 3; ++t) {
    launchers.emplace_back([&] {
      const TwParallel* parallel = pool.parallel();
      for (int i = 0; i < 200; ++i) parallel->launch(parallel->context, body, &nested, 6);
    });
  }
  for (std::thread& launcher : launchers) launcher.join();
  for (const auto& runs : inner.runs) EXPECT_EQ(runs, 3 * 200 * 6);
}

/// A caller that is bound to one CPU must not drag its workers onto it.
TEST(ThreadPoolTest, DoesNotInheritABindingToOneCpu) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "this process may use one CPU only";
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  for (const bool pin : {true, false}) {
    Result<ThreadPool> pool = ThreadPool::Create(2, pin);
    ASSERT_TRUE(pool.ok());
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&one, &after)) << "the caller's own binding has changed";
    cpu_set_t sets[2];
    const TwParallelBody body = [](void* closure, std::int64_t, std::int64_t,
                                   std::int32_t worker) -> std::int32_t {
      return sched_getaffinity(0, sizeof(cpu_set_t), static_cast<cpu_set_t*>(closure) + worker);
    };
    const TwParallel* parallel = pool->parallel();
    EXPECT_EQ(parallel->launch(parallel->context, body, sets, 2), 0);
    cpu_set_t common;
    CPU_AND(&common, &sets[1], &one);
    EXPECT_EQ(CPU_COUNT(&common), pin ? 0 : 1);
    EXPECT_GE(CPU_COUNT(&sets[1]), pin ? 1 : 2);
  }
  sched_setaffinity(0, sizeof before, &before);
}

TEST(ThreadPoolTest, RefusesImpossibleSizes) {
  EXPECT_EQ(ThreadPool::Create(0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ThreadPool::Create(1 << 20).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tilewright
