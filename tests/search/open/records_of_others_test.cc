#include "search/open/records_of_others.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/target/device.h"

namespace tilewright::search {
namespace {

OpenTask TaskOfBlocks() {
  Parameter block;
  block.name = "block";
  for (std::int64_t i = 1; i <= 4; ++i) block.values.emplace_back(i);
  OpenTaskParts parts;
  parts.name = "blocks";
  parts.space = *OpenSpace::Create("blocks", {block}, {"block < 4"});
  parts.command = {"run", "{block}"};
  return *MakeOpenTask(std::move(parts));
}

Trial TrialAt(const OpenTask& task, std::int64_t index, const std::string& model) {
  Trial trial;
  trial.candidate = {
      {task.workload, task.target()}, {}, task.key, kOpenTaskVersion, task.knobs.At(index)};
  trial.device.kind = "cpu";
  trial.device.model = model;
  trial.outcome = Outcome::kOk;
  trial.verified = true;
  trial.samples = {1 + static_cast<double>(index)};
  trial.value = trial.samples[0];
  trial.codegen_version = DeviceTraitsOf(task.target()).codegen_version;
  trial.finished_unix_seconds = 1.75e9 + static_cast<double>(index);
  return trial;
}

TEST(RecordsOfOthersTest, RecordsOfTheTaskOnOtherDevicesAreAdded) {
  const auto folder = ScopedTempDir::Create("tilewright-others-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/records.db";
  auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const OpenTask task = TaskOfBlocks();
  const auto job = store->OpenJob("job", "{}", 1);
  ASSERT_TRUE(job.ok());
  const std::vector<Trial> trials = {TrialAt(task, 0, "this"), TrialAt(task, 1, "other"),
                                     TrialAt(task, 2, "other")};
  ASSERT_TRUE(store->Append(job->id, trials, {}).ok());
  ASSERT_TRUE(store->SetFact(task.key, task.text).ok());

  std::vector<DeviceRecords> groups;
  const Status added = AddRecordsOfOthers(*store, task, trials[0].device, groups);
  ASSERT_TRUE(added.ok()) << added.message();
  ASSERT_EQ(groups.size(), 1u);
  ASSERT_EQ(groups[0].values.size(), 2u);
  EXPECT_EQ(groups[0].values[0].second, 2);

  // Rows of a store with another text of the key are invalid.
  ASSERT_TRUE(store->SetFact(task.key, "no text of a task").ok());
  auto again = records::Store::Open(path, records::Store::Mode::kReadOnly);
  ASSERT_TRUE(again.ok()) << again.status().message();
  groups.clear();
  ASSERT_TRUE(AddRecordsOfOthers(*again, task, trials[0].device, groups).ok());
  EXPECT_TRUE(groups.empty());
}

}  // namespace
}  // namespace tilewright::search
