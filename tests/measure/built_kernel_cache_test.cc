#include "measure/supervisor/built_kernel_cache.h"

#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

class KeptKernelsTest : public testing::Test {
 protected:
  KernelSpec Built(int number, std::size_t bytes) {
    KernelSpec kernel;
    kernel.artifact = folder_->path() + "/" + std::to_string(number);
    kernel.symbol = "k" + std::to_string(number);
    TW_CHECK(WriteFile(kernel.artifact, std::string(bytes, 'x')).ok());
    return kernel;
  }
  static Candidate Of(int index) {
    Candidate candidate = DenseCandidate();
    candidate.config.index = index;
    return candidate;
  }
  Result<ScopedTempDir> folder_ = ScopedTempDir::Create("tilewright-test");
  BuiltKernelCache kernel_cache_;
};

TEST_F(KeptKernelsTest, AKernelIsTakenOnce) {
  const KernelSpec kernel = Built(1, 10);
  EXPECT_EQ(kernel_cache_.Keep(1, Of(3), kernel), kernel.artifact);
  EXPECT_FALSE(kernel_cache_.Take(2, Of(3))) << "another task's";
  EXPECT_FALSE(kernel_cache_.Take(1, Of(4)));
  const auto taken = kernel_cache_.Take(1, Of(3));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->symbol, "k1");
  EXPECT_TRUE(FileExists(kernel.artifact)) << "the caller's now";
  EXPECT_FALSE(kernel_cache_.Take(1, Of(3)));
}

TEST_F(KeptKernelsTest, TheOldestGoFirst) {
  const std::size_t third = BuiltKernelCache::kMaxBytes / 3;
  for (int i = 0; i < 4; ++i) kernel_cache_.Keep(1, Of(i), Built(i, third));
  EXPECT_FALSE(FileExists(folder_->path() + "/0"));
  EXPECT_FALSE(kernel_cache_.Take(1, Of(0)));
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(kernel_cache_.Take(1, Of(i))) << i;
}

TEST_F(KeptKernelsTest, WhatIsBuiltAgainTakesItsPlace) {
  const KernelSpec first = Built(1, 10), second = Built(2, 10);
  kernel_cache_.Keep(1, Of(3), first);
  kernel_cache_.Keep(1, Of(3), second);
  EXPECT_FALSE(FileExists(first.artifact));
  EXPECT_EQ(kernel_cache_.Take(1, Of(3))->symbol, "k2");
}

TEST_F(KeptKernelsTest, WhatIsTooLargeOrGoneIsTheCallersStill) {
  const KernelSpec large = Built(1, BuiltKernelCache::kMaxBytes + 1);
  EXPECT_EQ(kernel_cache_.Keep(1, Of(1), large), "");
  EXPECT_TRUE(FileExists(large.artifact));
  KernelSpec gone = large;
  gone.artifact += ".gone";
  EXPECT_EQ(kernel_cache_.Keep(1, Of(2), gone), "");
  EXPECT_FALSE(kernel_cache_.Take(1, Of(1)));
}

TEST_F(KeptKernelsTest, ClearMakesRoom) {
  const KernelSpec kernel = Built(1, 10);
  kernel_cache_.Keep(1, Of(1), kernel);
  kernel_cache_.Clear();
  EXPECT_FALSE(FileExists(kernel.artifact));
  EXPECT_FALSE(kernel_cache_.Take(1, Of(1)));
}

}  // namespace
}  // namespace tilewright::measure
