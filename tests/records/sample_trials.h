#pragma once

// Sample trials and stores for the tests of packages and store maintenance.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "records/store.h"
#include "src/base/files/file.h"
#include "src/target/device.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright::records {

inline DeviceFingerprint SampleDevice(std::string model = "Test CPU") {
  DeviceFingerprint device;
  device.kind = "cpu";
  device.model = std::move(model);
  device.isa = {"avx2", "fma"};
  device.cores = 2;
  return device;
}

inline Workload SampleConv(std::int64_t channels = 64) {
  auto workload =
      Workload::Parse("conv2d(float32[1," + std::to_string(channels) + ",56,56]NCHW,float32[64," +
                      std::to_string(channels) + ",3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  return *workload;
}

inline Target SampleTarget(std::string_view extra = "") {
  return *Target::Parse("llvm -mcpu=haswell" + std::string(extra));
}

/// Returns a verified trial of config `index` that took `seconds`.
inline Trial SampleTrial(std::int64_t index, double seconds,
                         const Workload& workload = SampleConv(),
                         const Target& target = SampleTarget()) {
  const TemplateEntry* entry = BuiltInTemplates().For(workload, target).front();
  Trial trial;
  trial.candidate.task = {workload, target};
  trial.candidate.template_key = entry->key;
  trial.candidate.template_version = entry->version;
  trial.candidate.config = entry->define_space(workload, target)->At(index);
  trial.outcome = Outcome::kOk;
  trial.samples = {seconds, seconds * 1.01, seconds * 0.99};
  trial.value = seconds;
  trial.noise = 0.01;
  trial.verified = true;
  trial.device = SampleDevice();
  trial.codegen_version = DeviceTraitsOf(target).codegen_version;
  trial.finished_unix_seconds = 1.75e9 + static_cast<double>(index);
  return trial;
}

/// Returns a trial with this clean fraction, measured at `unix_seconds`.
inline Trial SampleTrialAt(std::int64_t index, double seconds, double quiet, double unix_seconds) {
  Trial trial = SampleTrial(index, seconds);
  trial.samples.assign(8, seconds);
  trial.clean_fraction = quiet;
  trial.finished_unix_seconds = unix_seconds;
  return trial;
}

/// Returns a oneDNN call for the sample convolution that took `seconds`.
inline Trial SampleCall(double seconds) {
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d.dnnl");
  Trial trial = SampleTrial(0, seconds);
  trial.candidate.template_key = entry.key;
  trial.candidate.template_version = entry.version;
  trial.candidate.config = *entry.default_config(SampleConv(), SampleTarget());
  trial.device.extra = "oneDNN 2.6.3";
  return trial;
}

/// A temporary folder with record stores.
class SampleStores : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-records-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(std::move(*folder));
  }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }
  /// Appends trials to a job of a store; creates the job if necessary.
  void Add(const std::string& path, const std::vector<Trial>& trials,
           const std::vector<LogEntry>& log = {}, bool finish = true,
           const std::string& job_name = "job") {
    auto store = Store::Open(path, Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto job = store->OpenJob(job_name, "{\"graph\":\"/home/somebody/model.onnx\"}", 7);
    ASSERT_TRUE(job.ok());
    const Status added = store->Append(job->id, trials, log);
    ASSERT_TRUE(added.ok()) << added.message();
    if (finish) {
      ASSERT_TRUE(store->FinishJob(job->id).ok());
    }
  }
  /// Runs SQL on the database without the store's checks.
  static void Sql(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  static std::int64_t CountIn(const std::string& path) {
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? *store->CountTrials({}) : -1;
  }
  std::unique_ptr<ScopedTempDir> folder_;
};

}  // namespace tilewright::records
