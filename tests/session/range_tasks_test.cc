// Tasks of a range of sizes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records/package/catalog.h"
#include "records/store.h"
#include "src/base/files/file.h"
#include "src/compiler/plan/block_kernels.h"
#include "src/session/open/tile_trials.h"
#include "src/session/tasks.h"
#include "src/target/device.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kConvolution[] =
    "conv2d(float32[1,8,14,14]NCHW,float32[16,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";

search::TuneTask TaskOf(const std::string& key, std::int64_t occurrences = 1) {
  const auto workload = Workload::Parse(key);
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  return {{*workload, *Target::Parse("llvm -mcpu=x86-64-v3")}, {}, occurrences};
}

std::string LayerOf(std::int64_t rows) {
  return "dense(float32[" + std::to_string(rows) + ",64]MK,float32[32,64]NK)->float32";
}

std::vector<std::int64_t> RowsOf(const std::string& key, const SizeRange& range) {
  std::vector<std::int64_t> rows;
  for (const Workload& workload : RangeWorkloads(TaskOf(key).task.workload, range)) {
    rows.push_back(workload.data.shape[0]);
  }
  return rows;
}

TEST(RangeTasks, DenseLayersOfFewRowsHaveSeveralSizes) {
  EXPECT_THAT(RowsOf(LayerOf(1), {"batch", 1, 64}), ElementsAre(1, 8, 64));
  EXPECT_THAT(RowsOf(LayerOf(3), {"batch", 1, 64}), ElementsAre(3, 24, 192));
  EXPECT_THAT(RowsOf(LayerOf(1), {"batch", 1, 3}), ElementsAre(1, 3));
  EXPECT_THAT(RowsOf(LayerOf(5), {"batch", 1, 64}), ElementsAre(5));
  EXPECT_THAT(RowsOf(kConvolution, {"batch", 1, 64}), ElementsAre(1));
}

TEST(RangeTasks, WeightsAreThoseOfTheSizes) {
  std::vector<search::TuneTask> tasks = {TaskOf(LayerOf(1), 3), TaskOf(kConvolution)};
  UseRangeOfEntries({"batch", 1, 64, {{1, 100}, {64, 25}}}, tasks);
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[0].task.workload.Key(), LayerOf(1));
  EXPECT_DOUBLE_EQ(tasks[0].weight, 1);
  EXPECT_EQ(tasks[1].task.workload.Key(), LayerOf(64));
  EXPECT_DOUBLE_EQ(tasks[1].weight, 0.25);
  EXPECT_EQ(tasks[1].occurrences, 3);
  EXPECT_DOUBLE_EQ(tasks[2].weight, 1);
}

// A layer of two rows for each entry has tasks that a layer of one row has, too.
TEST(RangeTasks, EachTaskIsThereOnce) {
  std::vector<search::TuneTask> tasks = {TaskOf(LayerOf(1), 2), TaskOf(LayerOf(4), 5)};
  UseRangeOfEntries({"batch", 1, 32, {{8, 1}, {32, 1}}}, tasks);
  std::vector<std::string> keys;
  for (const search::TuneTask& task : tasks) keys.push_back(task.task.workload.Key());
  EXPECT_THAT(keys, ElementsAre(LayerOf(8), LayerOf(32), LayerOf(128)));
  EXPECT_EQ(tasks[1].occurrences, 7);
}

TEST(RangeTasks, TilesGetAPartOfTheLimits) {
  search::JobSettings settings;
  settings.trials = 80;
  settings.budget_seconds = 100;
  const TileLimits limits = ReserveForTiles(settings);
  EXPECT_EQ(limits.trials, 10);
  EXPECT_EQ(settings.trials, 70);
  EXPECT_DOUBLE_EQ(limits.seconds, 100);
  EXPECT_DOUBLE_EQ(settings.budget_seconds, 95);
}

TEST(RangeTasks, NoTilesAreMissingWithoutRecords) {
  CompileOptions options;
  options.open.emplace();
  options.open->range = {"batch", 1, 64};
  const search::TuneTask layer = TaskOf(LayerOf(1));
  options.target = layer.task.target;
  const auto tiles = TilesToMeasure(layer.task.workload, {}, options);
  ASSERT_TRUE(tiles.ok()) << tiles.status().message();
  EXPECT_THAT(*tiles, IsEmpty());
}

/// Returns a record of a layer's default tile.
Trial TrialOf(const Workload& workload, const CompileOptions& options) {
  const TemplateEntry* entry = options.templates->Find("dense_packed.cpu");
  Trial trial;
  trial.candidate = {{workload, options.target},
                     {},
                     std::string(entry->key),
                     entry->version,
                     *entry->default_config(workload, options.target)};
  trial.outcome = Outcome::kOk;
  trial.samples = {1e-6};
  trial.value = 1e-6;
  trial.verified = true;
  trial.device = options.device;
  trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
  return trial;
}

TEST(RangeTasks, TilesAreMeasuredAtTheOtherSizes) {
  const auto folder = ScopedTempDir::Create("tilewright-range-test");
  ASSERT_TRUE(folder.ok());
  auto store = records::Store::Open(folder->path() + "/r.db", records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok());
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("native");
  options.device = ProbeHostCpu();
  options.open.emplace();
  options.open->range = {"batch", 1, 64};
  const Workload layer = TaskOf(LayerOf(1)).task.workload;
  const auto job = store->OpenJob("job", "{}", 1);
  ASSERT_TRUE(job.ok());
  const Trial trial = TrialOf(TaskOf(LayerOf(8)).task.workload, options);
  ASSERT_TRUE(store->Append(job->id, {trial}, {}).ok());
  records::Catalog catalog;
  catalog.AddStore(*std::move(store));
  options.catalog = &catalog;
  const auto tiles = TilesToMeasure(layer, {}, options);
  ASSERT_TRUE(tiles.ok()) << tiles.status().message();
  std::vector<std::int64_t> rows;
  for (const Candidate& tile : *tiles) {
    EXPECT_EQ(tile.template_key, "dense_packed.cpu");
    rows.push_back(tile.task.workload.data.shape[0]);
  }
  EXPECT_THAT(rows, ElementsAre(1, 64));
}

}  // namespace
}  // namespace tilewright::session
