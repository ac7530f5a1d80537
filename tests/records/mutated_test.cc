// A few of the cases that bench/mutated_records runs for half an hour.

#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "tests/records/mutated_records.h"

namespace tilewright::records {
namespace {

constexpr const char* kCorpus = TILEWRIGHT_SOURCE_DIR "/tests/fuzz/corpus/store/small_store";

TEST(MutatedRecordsTest, ChangedStoresHarmNobody) {
  auto folder = ScopedTempDir::Create("tilewright-mutated-test");
  auto records = MutatedRecords::Create(folder->path(), kCorpus);
  ASSERT_TRUE(records.ok()) << records.status().message();
  for (std::uint64_t seed = 0; seed < 24; ++seed) EXPECT_EQ(records->TryStore(seed), "") << seed;
  EXPECT_GT(records->opened, 2);
  EXPECT_GT(records->answered, 2);
}

TEST(MutatedRecordsTest, AStoreWithOneOtherFieldHarmsNobody) {
  auto folder = ScopedTempDir::Create("tilewright-mutated-test");
  auto records = MutatedRecords::Create(folder->path(), kCorpus);
  ASSERT_TRUE(records.ok()) << records.status().message();
  for (std::uint64_t seed = 0; seed < 60; ++seed) EXPECT_EQ(records->TryField(seed), "") << seed;
  EXPECT_GT(records->opened, 50);
}

TEST(MutatedRecordsTest, APackageWithOneOtherFieldHarmsNobody) {
  auto folder = ScopedTempDir::Create("tilewright-mutated-test");
  auto records = MutatedRecords::Create(folder->path(), kCorpus);
  ASSERT_TRUE(records.ok()) << records.status().message();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(records->TryPackageField(seed), "") << seed;
  }
}

TEST(MutatedRecordsTest, ChangedPackagesHarmNobody) {
  auto folder = ScopedTempDir::Create("tilewright-mutated-test");
  auto records = MutatedRecords::Create(folder->path(), kCorpus);
  ASSERT_TRUE(records.ok()) << records.status().message();
  for (std::uint64_t seed = 0; seed < 40; ++seed) EXPECT_EQ(records->TryPackage(seed), "") << seed;
}

}  // namespace
}  // namespace tilewright::records
