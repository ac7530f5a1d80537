#include "src/runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace tilewright {
namespace {

/// Counts of the runs of each iteration, and of the workers used.
struct Ledger {
  explicit Ledger(std::int64_t count) : runs(static_cast<std::size_t>(count)) {}
  std::vector<std::atomic<int>> runs;
  std::atomic<int> highest_worker{0};
  std::int32_t result = 0;  // of the thread that runs the last iteration
};

std::int32_t Count(void* closure, std::int64_t begin, std::int64_t end, std::int32_t worker) {
  auto* ledger = static_cast<Ledger*>(closure);
  for (std::int64_t i = begin; i < end; ++i) ++ledger->runs[static_cast<std::size_t>(i)];
  int seen = ledger->highest_worker;
  while (seen < worker && !ledger->highest_worker.compare_exchange_weak(seen, worker)) {
  }
  return end == std::ssize(ledger->runs) ? ledger->result : 0;
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

/// One iteration, the first of `worker`'s share, ends only after all others have run.
struct Stalled {
  std::int64_t count, first;
  std::atomic<int> others{0};
};

std::int32_t Stall(void* closure, std::int64_t begin, std::int64_t end, std::int32_t) {
  auto* stalled = static_cast<Stalled*>(closure);
  for (std::int64_t i = begin; i < end; ++i) {
    if (i != stalled->first) {
      ++stalled->others;
      continue;
    }
    while (stalled->others < stalled->count - 1) std::this_thread::yield();
  }
  return 0;
}

TEST(ThreadPoolTest, TakesOverWhatAThreadThatIsHeldUpHasLeft) {
  const ThreadPool pool = MakePool(2);
  for (const std::int64_t first : {0, 4}) {  // the caller is delayed, or its worker
    for (int i = 0; i < 200; ++i) {
      Stalled stalled{8, first};
      pool.parallel()->launch(pool.parallel()->context, &Stall, &stalled, stalled.count);
      ASSERT_EQ(stalled.others, 7);
    }
  }
}

TEST(ThreadPoolTest, ReachesFarIterations) {
  const ThreadPool pool = MakePool(2);
  const std::int64_t count = (std::int64_t{1} << 33) + 5;
  std::atomic<std::int64_t> sum{0};
  const TwParallelBody body = [](void* closure, std::int64_t begin, std::int64_t end,
                                 std::int32_t) -> std::int32_t {
    *static_cast<std::atomic<std::int64_t>*>(closure) += end - begin;
    return end > (std::int64_t{1} << 33) ? 7 : 0;
  };
  EXPECT_EQ(pool.parallel()->launch(pool.parallel()->context, body, &sum, count), 7);
  EXPECT_EQ(sum, count);
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

/// Binds the calling thread to its current CPU during the object's lifetime.
class BoundToOneCpu {
 public:
  BoundToOneCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    CPU_ZERO(&one_);
    CPU_SET(sched_getcpu(), &one_);
    sched_setaffinity(0, sizeof one_, &one_);
  }
  BoundToOneCpu(const BoundToOneCpu&) = delete;
  BoundToOneCpu& operator=(const BoundToOneCpu&) = delete;
  ~BoundToOneCpu() { sched_setaffinity(0, sizeof before_, &before_); }
  const cpu_set_t& one() const { return one_; }
  int cpus_before() const { return CPU_COUNT(&before_); }

 private:
  cpu_set_t before_, one_;
};

/// Returns the CPUs that the worker of a two-thread pool may use in a launch.
cpu_set_t CpusOfWorker(TwPool* pool) {
  struct Meeting {  // waits for both threads: the caller does not take the worker's iteration
    std::atomic<int> arrived{0};
    cpu_set_t sets[2];
  } meeting;
  const TwParallelBody body = [](void* closure, std::int64_t, std::int64_t,
                                 std::int32_t worker) -> std::int32_t {
    auto* both = static_cast<Meeting*>(closure);
    const int code = sched_getaffinity(0, sizeof(cpu_set_t), both->sets + worker);
    ++both->arrived;
    while (both->arrived < 2) std::this_thread::yield();
    return code;
  };
  const TwParallel* parallel = TwPoolParallel(pool);
  EXPECT_EQ(parallel->launch(parallel->context, body, &meeting, 2), 0);
  return meeting.sets[1];
}
cpu_set_t CpusOfWorker(const TwPoolOptions& options) {
  TwPool* pool = TwPoolCreate(&options);
  TW_CHECK(pool != nullptr);
  const cpu_set_t cpus = CpusOfWorker(pool);
  TwPoolDestroy(pool);
  return cpus;
}

/// A measurer that is bound to one CPU must not restrict its workers to it.
TEST(ThreadPoolTest, WidensABindingToOneCpuIfAsked) {
  const BoundToOneCpu bound;
  if (bound.cpus_before() < 2) GTEST_SKIP() << "this process may use one CPU only";
  for (const bool pin : {true, false}) {
    TwPoolOptions options = TwPoolDefaults(2);
    options.widen = 1;
    options.pin = pin ? 1 : 0;
    const cpu_set_t cpus = CpusOfWorker(options);
    cpu_set_t after, common;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&bound.one(), &after)) << "the caller's own binding has changed";
    CPU_AND(&common, &cpus, &bound.one());
    EXPECT_EQ(CPU_COUNT(&common), pin ? 0 : 1);
    EXPECT_GE(CPU_COUNT(&cpus), pin ? 1 : 2);
  }
}

/// The system may move a thread that has slept to any CPU. On the worker's CPU, the two would take
/// turns, and two threads would be as fast as one.
TEST(ThreadPoolTest, AWorkerLeavesItsCpuToTheCaller) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "this process may use one CPU only";
  const TwPoolOptions options = TwPoolDefaults(2);
  TwPool* pool = TwPoolCreate(&options);
  ASSERT_NE(pool, nullptr);
  cpu_set_t of_worker = CpusOfWorker(pool);
  EXPECT_EQ(CPU_COUNT(&of_worker), 1);
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_EQ(sched_setaffinity(0, sizeof of_worker, &of_worker), 0);  // the caller
    const cpu_set_t left = CpusOfWorker(pool);
    EXPECT_EQ(CPU_COUNT(&left), 1);
    EXPECT_FALSE(CPU_EQUAL(&left, &of_worker)) << "turn " << turn;
    of_worker = left;
  }
  TwPoolDestroy(pool);
  sched_setaffinity(0, sizeof before, &before);
}

/// A compiled model in a program that is limited to one CPU (taskset) must not use others.
TEST(ThreadPoolTest, KeepsToTheCallersCpus) {
  const BoundToOneCpu bound;
  const cpu_set_t cpus = CpusOfWorker(TwPoolDefaults(2));
  EXPECT_TRUE(CPU_EQUAL(&bound.one(), &cpus));
}

TEST(ThreadPoolTest, RefusesImpossibleSizes) {
  EXPECT_EQ(ThreadPool::Create(0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ThreadPool::Create(1 << 20).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tilewright
