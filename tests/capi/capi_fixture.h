#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "records/store.h"
#include "src/base/files/file.h"
#include "tests/records/sample_trials.h"

namespace tilewright::capi {

inline constexpr const char* kTarget = "llvm -mcpu=haswell";

using records::SampleDevice;

inline std::string DenseKey(int rows) {
  return "dense(float32[" + std::to_string(rows) + ",512]MK,float32[1000,512]NK)->float32";
}

inline std::string ConvKey() {
  return "conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";
}

/// Returns a verified trial of config `index` that took `seconds`.
inline Trial OkTrial(const std::string& key, std::int64_t index, double seconds) {
  Trial trial =
      records::SampleTrial(index, seconds, *Workload::Parse(key), *Target::Parse(kTarget));
  trial.finished_unix_seconds = 1.75e9;
  return trial;
}

/// Adds trials to a store, which is created if it is missing.
inline void Write(const std::string& path, const std::vector<Trial>& trials) {
  auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto job = store->OpenJob("job", "{}", 7);
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(store->Append(job->id, trials, {}).ok());
}

struct Free {
  void operator()(tw_catalog* p) const { tw_catalog_free(p); }
  void operator()(tw_target* p) const { tw_target_free(p); }
  void operator()(tw_operator* p) const { tw_operator_free(p); }
  void operator()(tw_answer* p) const { tw_answer_free(p); }
  void operator()(tw_model* p) const { tw_model_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

/// Fixture with a folder for stores, a target, and a catalog without sources.
class CapiTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-capi-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(std::move(*folder));
    path_ = folder_->path() + "/records.db";
    tw_target* target = nullptr;
    ASSERT_EQ(tw_target_create(kTarget, SampleDevice().ToString().c_str(), &target, &error_), TW_OK)
        << error_.message;
    target_.reset(target);
    tw_catalog* catalog = nullptr;
    ASSERT_EQ(tw_catalog_create(&catalog, &error_), TW_OK);
    catalog_.reset(catalog);
  }

  void Add(const std::string& path) {
    ASSERT_EQ(tw_catalog_add_store(catalog_.get(), path.c_str(), &error_), TW_OK) << error_.message;
  }

  /// Queries the catalog. Returns null after a failure, which error_ describes.
  Owned<tw_answer> Ask(const std::string& key, std::uint32_t accept = TW_ACCEPT_MEASURED) {
    tw_query_options options = TW_QUERY_OPTIONS_INIT;
    options.accept = accept;
    tw_answer* answer = nullptr;
    code_ = tw_query_key(catalog_.get(), target_.get(), key.c_str(), &options, &answer, &error_);
    EXPECT_EQ(code_ == TW_OK, answer != nullptr) << error_.message;
    return Owned<tw_answer>(answer);
  }

  std::unique_ptr<ScopedTempDir> folder_;
  std::string path_;
  Owned<tw_target> target_;
  Owned<tw_catalog> catalog_;
  tw_error error_ = TW_ERROR_INIT;
  tw_code code_ = TW_OK;
};

}  // namespace tilewright::capi
