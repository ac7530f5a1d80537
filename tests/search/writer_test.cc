#include "search/tune/writer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "records/sqlite.h"
#include "search/recorded/replay.h"
#include "search/tuner.h"
#include "src/base/files/file.h"
#include "tests/support/built_in.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

/// Another process that writes to the store when the job has been opened, and takes its time: the
/// job's writer waits for it.
class SlowNeighbour final : public TuneObserver {
 public:
  explicit SlowNeighbour(std::string path) : path_(std::move(path)) {}
  ~SlowNeighbour() override {
    if (thread_.joinable()) thread_.join();
  }
  void Opened(const std::string& /*job_name*/) override {
    using records::Database;
    auto db = Database::Open(path_, Database::Mode::kReadWriteCreate);
    ASSERT_TRUE(db.ok()) << db.status().message();
    ASSERT_TRUE(db->Execute("BEGIN IMMEDIATE").ok());
    thread_ = std::thread([held = std::make_shared<Database>(*std::move(db))] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_TRUE(held->Execute("ROLLBACK").ok());
    });
  }

 private:
  const std::string path_;
  std::thread thread_;
};

TEST(WriterTest, HasTheStoreToItselfWhileTasksBegin) {
  const auto folder = *ScopedTempDir::Create("tw_writer");
  const std::string path = folder.path() + "/r.db";
  auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  // So many that begin one after the other that the writer has much to do before the last one has.
  constexpr int kTasks = 60;
  std::vector<TuneTask> tasks;
  for (int i = 0; i < kTasks; ++i) {
    TuneTask task;
    const std::string features = std::to_string(16 * (i + 1));
    task.task.workload =
        *Workload::Parse("dense(float32[16,16]MK,float32[" + features + ",16]NK)->float32");
    task.task.target = *Target::Parse("llvm -mcpu=core-avx2");
    tasks.push_back(std::move(task));
  }
  VirtualClock clock;
  ReplayOptions options;
  options.capacity = 2 * kTasks;
  ReplayMeasurer measurer(
      [](const Candidate& candidate) {
        Trial trial;
        trial.outcome = Outcome::kOk;
        trial.verified = true;
        trial.run_seconds = 1e-3;
        trial.value = 1e-3 + 1e-6 * static_cast<double>(candidate.config.index % 1000);
        return trial;
      },
      clock, options);
  SlowNeighbour neighbour(path);
  TuneContext context;
  context.templates = &BuiltInTemplates();
  context.strategies = &BuiltInStrategies();
  context.measurer = &measurer;
  context.store = &*store;
  context.clock = &clock;
  context.observer = &neighbour;
  JobSettings settings;
  settings.strategy = "random";
  settings.trials = kTasks;
  settings.budget_seconds = 1e6;  // so that each task begins with one trial
  settings.finalists = 0;
  const auto report = Tune(tasks, settings, context);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->trials, kTasks);
  EXPECT_EQ(*store->CountTrials({}), kTasks);
  EXPECT_TRUE(store->Check().ok());
}

}  // namespace
}  // namespace tilewright::search
